// The credential controller: renews Purser's own credentials for clusters. It runs on the leader only.

import { defer, filter, map, merge, type Observable, takeUntil } from 'rxjs';
import type { Cluster } from '../api/cluster.gen.ts';
import type { Change } from '../kube/store.ts';
import { type Outcome, runController } from '../runtime/controller.ts';
import { whenAborted } from '../runtime/leadership.ts';
import { planRetry } from '../runtime/retry-policy.ts';
import { generationChanged, mapToKeys, requestNow, whenSynced } from '../runtime/trigger.ts';
import { mergeItems } from '../std/merge-items.ts';
import type { RenewalFailure } from '../targets/policy/renewal.ts';
import { toRegisteredKey } from '../targets/policy/renewed-secret.ts';
import { credentialKeysOf, Registry, type RegistryInformers } from '../targets/registry.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { computeRetryAt, createReconcile } from './reconcile.ts';
import { type CredentialDeps, isRejected } from './run.ts';
import { TrackedCredentials } from './tracked-credential.ts';

export interface CredentialControllerOptions extends Omit<CredentialDeps, 'registry' | 'tracked' | 'startedAt'> {
  readonly informers: RegistryInformers;
  readonly metrics?: Pick<Metrics, 'observeQueue'> | undefined;
}

export interface CredentialController {
  /** Runs one term, which stops cleanly after `stopping` aborts. Terms share no state. */
  run(stopping: AbortSignal): Observable<Outcome<string>>;
  /** Returns the failure to report for the credential in the registered Secret with this key; undefined if there is none. */
  failureOf(key: string): RenewalFailure | undefined;
}

export function createCredentialController({ informers, metrics, ...options }: CredentialControllerOptions): CredentialController {
  const registry = new Registry(informers);
  let tracked = new TrackedCredentials();
  const run = (stopping: AbortSignal) =>
    defer(() => {
      tracked = new TrackedCredentials();
      return runTerm({ ...options, registry, tracked, startedAt: options.clock.now() }, { informers, metrics, stopping });
    });
  return { run, failureOf: (key) => tracked.failureOf(key) };
}

interface Term extends Pick<CredentialControllerOptions, 'informers' | 'metrics'> {
  readonly stopping: AbortSignal;
}

/** Maximum number of concurrent reconciles: many, because reconciles for hanging clusters only wait. */
const CONCURRENCY = 64;

function runTerm(deps: CredentialDeps, { informers, metrics, stopping }: Term): Observable<Outcome<string>> {
  const { clock, registry } = deps;
  const all = [informers.clusters, ...informers.credentials];
  const requests$ = whenSynced(
    all,
    () => [...new Set(registry.clusters.list().flatMap(credentialKeysOf))],
    emitChangedKeys(informers),
  ).pipe(requestNow(clock), takeUntil(whenAborted(stopping)));
  return runController(requests$, {
    reconcile: createReconcile(deps),
    retryPolicy: (failure) => ({ ...planRetry(failure, { random: 0 }), retryAt: computeRetryAt(deps, failure.key, stopping) }),
    clock,
    concurrency: CONCURRENCY,
    onQueue: ({ depth }) => metrics?.observeQueue('credential', depth),
  });
}

function isNewlyRejected(change: Change<Cluster>): boolean {
  return change.type === 'updated' && isRejected(change.object) && !isRejected(change.previous);
}

/**
 * Emits the key of a registered Secret when the Secret, the Secret with the renewed token, or the spec of a Cluster that refers or referred
 * to the registered Secret changes, and when a cluster rejects the credential.
 */
function emitChangedKeys({ clusters, credentials }: RegistryInformers): Observable<string> {
  return merge(
    clusters.changes$.pipe(
      filter((change) => generationChanged(change) || isNewlyRejected(change)),
      mergeItems(mapToKeys(credentialKeysOf)),
    ),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(map(({ key }) => toRegisteredKey(key))),
  );
}
