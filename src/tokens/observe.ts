// The observation of a ManagedToken: everything that a decision needs, from informers and memory, without a request.

import { BoundedCache } from '../std/bounded-cache.ts';
import type { PinnedEndpoints } from '../targets/endpoints.ts';
import { IssueError } from '../targets/issue-error.ts';
import { toIssuingCredential } from '../targets/registry.ts';
import { type HubView, secretKeyOf } from './informers.ts';
import { type OutputContent, toOutputContent } from './outputs/outputs.ts';
import { earlierClaimant, isOwnedBy, type StoredSecret, secretNameOf, toOutputsDigest } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TokenObservation } from './policy/state.ts';
import { type TokenRun, toFailure } from './run.ts';

/** Returns the observation for a run; `informed` is the ManagedToken as the informer has it. */
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
    former: findFormerSecrets(run, token),
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

/** Returns the observation with the Cluster as it is registered now. */
export function withRegistration(run: TokenRun, observation: TokenObservation): TokenObservation {
  const { outputsDigest: _, unwritable: __, ...rest } = observation;
  return { ...rest, ...observeCluster(run.view, rest.token), ...observeOutputs(run, rest.token) };
}

function observeCluster(view: HubView, { spec }: StoredToken): Pick<TokenObservation, 'cluster' | 'issuingCredential'> {
  const registered = view.registry.registered(spec.clusterName);
  return { cluster: registered?.cluster, issuingCredential: registered && toIssuingCredential(registered) };
}

/** Returns the digest of the desired outputs, or the failure that prevents writing them; empty without the Cluster. */
function observeOutputs({ view, clients }: TokenRun, token: StoredToken): Pick<TokenObservation, 'outputsDigest' | 'unwritable'> {
  const registered = view.registry.registered(token.spec.clusterName);
  if (registered === undefined) return {};
  try {
    return { outputsDigest: toOutputsDigest(resolveOutputs(token, clients.endpointsOf(registered))) };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return { unwritable: toFailure(error, token) };
  }
}

/** Returns the outputs for the token. Throws an IssueError if the address in the spec is not an address of the cluster. */
export function resolveOutputs(token: StoredToken, endpoints: PinnedEndpoints): OutputContent {
  const known = recentOutputs.get(token.spec);
  if (known?.endpoints === endpoints) return known.content;
  const content = toOutputContent(token, endpoints);
  if (content === undefined)
    throw new IssueError(
      'InvalidSpec',
      'spec.secret.server is not an address of the cluster. Use one of the serverAddress values of the Cluster, or remove the field',
    );
  recentOutputs.set(token.spec, { endpoints, content });
  return content;
}

interface RecentOutputs {
  readonly endpoints: PinnedEndpoints;
  readonly content: OutputContent;
}

const MAX_OUTPUTS = 256;
/**
 * Outputs by spec, because a reconcile reads them and their digest several times. ManagedTokens with equal specs often share one spec
 * object, see `shareFields`.
 */
const recentOutputs = new BoundedCache<RecentOutputs, StoredToken['spec']>(MAX_OUTPUTS);

/** Maximum number of former Secrets that one reconcile handles: tenants can create many. Each deletion triggers the next reconcile. */
const MAX_FORMER = 16;

/** Returns the owned Secrets with former names, at most MAX_FORMER; the one that held the token at the last reconcile comes first. */
function findFormerSecrets({ view }: TokenRun, token: StoredToken): readonly StoredSecret[] {
  const { metadata, status } = token;
  const last = view.secrets.get(`${metadata.namespace}/${status?.secretName}`);
  const owned = view.secretsOwnedBy(token, MAX_FORMER + 1);
  const former = [...new Set(last !== undefined && isOwnedBy(last.metadata, token) ? [last, ...owned] : owned)];
  return former.filter(({ metadata: { name } }) => name !== secretNameOf(token)).slice(0, MAX_FORMER);
}
