// Everything that a decision on a ManagedToken needs, read from stores and memory. Asks nobody.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { objectKey } from '../kube/paths.ts';
import { IssueError } from '../targets/issue-error.ts';
import type { PinnedEndpoints } from '../targets/pinned-endpoints.ts';
import type { TokenDeps } from './deps.ts';
import { secretKeyOf } from './hub-view.ts';
import { type OutputTarget, outputTarget } from './outputs/outputs.ts';
import type { StoredSecret, TokenObservation } from './policy/observation.ts';
import { nextVerifyAt } from './policy/rotation.ts';
import { secretNameOf } from './policy/secret.ts';
import { earlierClaimant } from './policy/secret-claim.ts';
import { wantedDigest } from './reduce-secret.ts';
import { failureOf } from './step.ts';

/** What is known of the ManagedToken with this key; undefined when there is none. */
export function observe(deps: TokenDeps, key: string): TokenObservation | undefined {
  const informed = deps.view.tokens.get(key);
  return informed && around(deps, deps.memory.keep(informed.metadata.uid ?? '').token.latest(informed, deps.clock.now()) ?? informed);
}

/** Returns a ManagedToken as it is after writes of ours; the same if it was deleted meanwhile. */
export function latestToken({ view, memory, clock }: TokenDeps, token: ManagedToken): ManagedToken {
  const { uid = '' } = token.metadata;
  const informed = view.tokens.get(objectKey(token));
  return informed?.metadata.uid === uid ? (memory.of(uid).token.latest(informed, clock.now()) ?? token) : token;
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
    ...wantedOf(deps, token),
    ...(verdict && { verdict }),
    ...(verifyAt !== undefined && { verifyAt }),
    ...(lastIssuedAt !== undefined && { lastIssuedAt }),
    ...(anchorsAt !== undefined && { anchorsAt }),
  };
}

/** Returns the observation with the Cluster as it is registered now. */
export function withRegistration(deps: TokenDeps, observation: TokenObservation): TokenObservation {
  const { outputsDigest: _, unwritable: __, ...rest } = observation;
  return { ...rest, cluster: deps.view.clusters.get(rest.token.spec.clusterName), ...wantedOf(deps, rest.token) };
}

/** Returns the digest of the wanted outputs, or the reason not to write any; empty without the Cluster. */
function wantedOf({ view, clients }: TokenDeps, token: ManagedToken): Pick<TokenObservation, 'outputsDigest' | 'unwritable'> {
  const registered = view.registered(token.spec.clusterName);
  if (registered === undefined) return {};
  try {
    return { outputsDigest: wantedDigest(outputsOf(token, clients.endpointsOf(registered))) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { unwritable: failureOf(error, token) };
  }
}

/** Returns the outputs for the token. Throws an IssueError if the spec names an address that is not the cluster's. */
export function outputsOf(token: ManagedToken, endpoints: PinnedEndpoints): OutputTarget {
  const target = outputTarget(token, endpoints);
  if (target === undefined) throw new IssueError('InvalidSpec', 'spec.secret.server is not an address of the cluster');
  return target;
}

function formerSecrets(owned: readonly StoredSecret[], token: ManagedToken): readonly StoredSecret[] {
  const { namespace } = token.metadata;
  return owned.filter(({ metadata }) => metadata.namespace === namespace && metadata.name !== secretNameOf(token));
}
