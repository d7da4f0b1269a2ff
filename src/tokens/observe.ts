// Observes a ManagedToken: reads everything that a decision needs from informers and memory, without a request.

import type { PinnedEndpoints } from '../targets/endpoints.ts';
import { IssueError } from '../targets/issue-error.ts';
import { issuerOf } from '../targets/registered-cluster.ts';
import { type HubView, ownerKeyOf, secretKeyOf } from './informers.ts';
import type { OutputTarget } from './outputs/forms.ts';
import { outputTarget } from './outputs/outputs.ts';
import { digestOfOutputs, earlierClaimant, isOwnedBy, type StoredSecret, secretNameOf } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TokenObservation } from './policy/state.ts';
import { type TokenRun, toFailure } from './run.ts';

/** Observes the ManagedToken of a run; `informed` is the informer's object. */
export function observe(run: TokenRun, informed: StoredToken): TokenObservation {
  const { view, tracked, clock, recordKey, verification } = run;
  const now = clock.now();
  const token = tracked.latestToken(informed, now);
  const { verdict, verifiedAt = run.startedAt, lastIssuedAt, anchorsAt } = tracked;
  const { secretDigest, secretRef } = token.status ?? {};
  const { writtenDigest = secretDigest, issuedDigest = recordKey.verify(token), writtenSecret = secretRef } = tracked;
  return {
    token,
    ...observeCluster(view, token),
    secret: tracked.latestSecret(view.secrets.get(secretKeyOf(token)), secretNameOf(token), now),
    former: formerSecrets(run, token),
    ...observeOutputs(run, token),
    claimant: earlierClaimant(token, view.firstClaimant(secretKeyOf(token))),
    writtenDigest,
    writtenSecret,
    issuedDigest,
    verdict,
    verifyAt: verification.nextAt(token, Math.max(...[verifiedAt, lastIssuedAt ?? 0].filter((at) => at <= now))),
    lastIssuedAt,
    anchorsAt,
  };
}

/** Returns the ManagedToken of a run after Purser's own writes; `token` if it was deleted in the meantime. */
export function latestToken({ view, tracked, clock, key, uid }: TokenRun, token: StoredToken): StoredToken {
  const informed = view.tokens.get(key);
  return informed?.metadata.uid === uid ? tracked.latestToken(informed, clock.now()) : token;
}

/** Returns the observation with the Cluster as it is registered now. */
export function withRegistration(run: TokenRun, observation: TokenObservation): TokenObservation {
  const { outputsDigest: _, unwritable: __, ...rest } = observation;
  return { ...rest, ...observeCluster(run.view, rest.token), ...observeOutputs(run, rest.token) };
}

function observeCluster(view: HubView, { spec }: StoredToken): Pick<TokenObservation, 'cluster' | 'issuer'> {
  const registered = view.registered(spec.clusterName);
  return { cluster: registered?.cluster, issuer: registered && issuerOf(registered) };
}

/** Returns the digest of the desired outputs, or the reason not to write any; empty without the Cluster. */
function observeOutputs({ view, clients }: TokenRun, token: StoredToken): Pick<TokenObservation, 'outputsDigest' | 'unwritable'> {
  const registered = view.registered(token.spec.clusterName);
  if (registered === undefined) return {};
  try {
    return { outputsDigest: digestOfOutputs(outputsOf(token, clients.endpointsOf(registered))) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { unwritable: toFailure(error, token) };
  }
}

/** Returns the outputs for the token. Throws an IssueError if the spec names an address that is not the cluster's. */
export function outputsOf(token: StoredToken, endpoints: PinnedEndpoints): OutputTarget {
  const target = outputTarget(token, endpoints);
  if (target === undefined) throw new IssueError('InvalidSpec', 'spec.secret.server is not an address of the cluster');
  return target;
}

/** Maximum number of Secrets of former names in one reconcile: tenants can create many. Their deletion triggers the next reconcile. */
const MAX_FORMER = 16;

/** Returns Secrets of former names; first the one that held the token at the last reconcile. */
function formerSecrets({ view, uid }: TokenRun, token: StoredToken): readonly StoredSecret[] {
  const { metadata, status } = token;
  const last = view.secrets.get(`${metadata.namespace}/${status?.secretName}`);
  const owned = view.secretsOwnedBy(ownerKeyOf(metadata.namespace, uid), MAX_FORMER + 1);
  const former = [...new Set(last !== undefined && isOwnedBy(last.metadata, token) ? [last, ...owned] : owned)];
  return former.filter(({ metadata: { name } }) => name !== secretNameOf(token)).slice(0, MAX_FORMER);
}
