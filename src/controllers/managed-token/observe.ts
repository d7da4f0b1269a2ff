// Everything that a decision on a ManagedToken needs, read from stores and memory. Asks nobody.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { nextVerifyAt } from '../../domain/rotation.ts';
import { earlierClaimant } from '../../domain/secret-claim.ts';
import type { StoredSecret, TokenObservation } from '../../domain/token-observation.ts';
import { type OutputTarget, outputTarget } from '../../domain/token-outputs.ts';
import { secretNameOf } from '../../domain/token-secret.ts';
import { serversFor } from '../../issuers/endpoints.ts';
import type { TokenDeps } from './deps.ts';
import { secretKeyOf } from './hub-view.ts';
import { wantedDigest } from './reduce-secret.ts';

/** What is known of the ManagedToken with this key; undefined when there is none. */
export function observe(deps: TokenDeps, key: string): TokenObservation | undefined {
  const informed = deps.view.tokens.get(key);
  return informed && around(deps, deps.memory.keep(informed.metadata.uid ?? '').token.latest(informed, deps.clock.now()) ?? informed);
}

/** A ManagedToken and everything around it. */
function around(deps: TokenDeps, token: ManagedToken): TokenObservation {
  const { view, memory, clock, settings } = deps;
  const uid = token.metadata.uid ?? '';
  const recollection = memory.of(uid);
  const { verdict, verifiedAt = deps.startedAt, lastIssuedAt, anchorsAt } = recollection;
  const now = clock.now();
  const cluster = view.clusters.get(token.spec.clusterName);
  const secret = recollection.latestSecret(view.secrets.get(secretKeyOf(token)), secretNameOf(token), now);
  const claimant = earlierClaimant(token, view.tokensForSecret(secretKeyOf(token)));
  // One in the future is from before the clock was set back.
  const verifyAt = nextVerifyAt(uid, Math.min(verifiedAt, now), settings.verifyIntervalMs);
  return {
    token,
    cluster,
    secret,
    former: formerSecrets(view.secretsOwnedBy(uid), token),
    ...(claimant !== undefined && { claimant }),
    ...(cluster && { outputsDigest: wantedDigest(targetOf(token, cluster, settings.ownAddress)) }),
    ...(verdict && { verdict }),
    ...(verifyAt !== undefined && { verifyAt }),
    ...(lastIssuedAt !== undefined && { lastIssuedAt }),
    ...(anchorsAt !== undefined && { anchorsAt }),
  };
}

/** What is written into the Secret: the address for our own place in the network, whether it works at present or not. */
export function targetOf(token: ManagedToken, cluster: Cluster, ownAddress: string | undefined): OutputTarget {
  const { serverEndpoints } = cluster.spec.orchestratorApiEndpoints;
  const [server = serverEndpoints[0]?.serverAddress ?? ''] = serversFor(serverEndpoints, ownAddress);
  return outputTarget(token, cluster, server);
}

function formerSecrets(owned: readonly StoredSecret[], token: ManagedToken): readonly StoredSecret[] {
  const { namespace } = token.metadata;
  return owned.filter(({ metadata }) => metadata.namespace === namespace && metadata.name !== secretNameOf(token));
}
