// The reconcile of one credential: observes, plans and executes one step after another, until none is due or MAX_STEPS were executed.

import type { Result } from '../runtime/controller.ts';
import { IssueError, type IssueErrorReason } from '../targets/issue-error.ts';
import type { RenewalFailure, RenewalReason } from '../targets/policy/renewal.ts';
import { type CredentialPlan, computeRetryDelayMs, MIN_RETRY_MS, planCredential } from './policy/plan.ts';
import { deleteAnchors, recover, renew, restore } from './renew.ts';
import { removeRecord, retire } from './retire.ts';
import { revoke } from './revoke.ts';
import { type CredentialDeps, type CredentialRun, observe } from './run.ts';

/** Returns the reconcile function for credentials. The function throws the error of a failed step; the step is retried after its delay. */
export function createReconcile(deps: CredentialDeps): (key: string, signal: AbortSignal) => Promise<Result> {
  return async (key, signal) => {
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      const observed = observe(deps, key, signal);
      if (observed === undefined) {
        // While a Cluster refers to the registered Secret, the record of anchors is kept, because the Secret may be re-created.
        if (deps.registry.clustersOfCredential(key).length === 0) deps.tracked.forget(key);
        return {};
      }
      const { run, observation } = observed;
      const plan = planCredential(observation, deps.clock.now());
      if (plan.type === 'wait') return { requeueAt: plan.until };
      await execute(run, plan);
    }
    return { requeueAt: deps.clock.now() + MIN_RETRY_MS };
  };
}

/**
 * Returns the time of the next reconcile after a failed step, in milliseconds since the epoch: the time of the next step, or 10 s from now
 * if no step is planned. Returns the current time if a step is due, or if no Cluster uses the credential any more.
 */
export function computeRetryAt(deps: CredentialDeps, key: string, signal: AbortSignal): number {
  const observed = observe(deps, key, signal);
  const now = deps.clock.now();
  const plan = observed && planCredential(observed.observation, now);
  return plan?.type === 'wait' ? (plan.until ?? now + MIN_RETRY_MS) : now;
}

/** Maximum number of steps of one reconcile; more than a sequence such as restore, delete anchors, renew needs. */
const MAX_STEPS = 4;

type Step = Exclude<CredentialPlan, { readonly type: 'wait' }>;

async function execute(run: CredentialRun, step: Step): Promise<void> {
  try {
    await executeStep(run, step);
  } catch (error) {
    run.signal.throwIfAborted();
    recordFailure(run, step.type, error);
    throw error;
  }
}

async function executeStep(run: CredentialRun, step: Step): Promise<void> {
  if (step.type === 'restore') return await restore(run);
  if (step.type === 'removeRecord') return await removeRecord(run);
  const { registered } = run;
  // Without a usable registration, no other step is planned.
  if (registered === undefined) return;
  if (step.type === 'deleteAnchors') return await deleteAnchors(run, registered, step.anchors);
  await STEPS[step.type](run, registered);
}

const STEPS = { renew, recover, revoke, retire } as const;

/** Records a failed step and delays the next attempt. A failed revocation or anchor deletion delays only those two steps. */
function recordFailure({ state, token, clock, random }: CredentialRun, step: CredentialPlan['type'], error: unknown): void {
  const now = clock.monotonic();
  const spread = 1 + random() / 10;
  if (step === 'deleteAnchors' || step === 'revoke') {
    state.deleteFailures += 1;
    state.deleteFailure = { reason: 'CredentialNotRevoked', detail: error instanceof IssueError ? error.message : '' };
    state.deleteNotBefore = now + computeRetryDelayMs(state.deleteFailures, 0) * spread;
    return;
  }
  state.failedDigest = token?.digest ?? '';
  state.failedAt = now;
  state.failures += 1;
  state.failure = toFailure(step, error);
  const delayMs = computeRetryDelayMs(state.failures, (token?.expiresAt ?? 0) - clock.now()) * spread;
  if (step === 'restore') state.restoreNotBefore = Math.max(state.restoreNotBefore, now + delayMs);
  else state.renewNotBefore = now + delayMs;
  // The latest token is not restored once the cluster has rejected the credential.
  if (error instanceof IssueError && error.reason === 'CredentialRejected') state.latest = undefined;
}

const REASONS: Readonly<Partial<Record<IssueErrorReason, RenewalReason>>> = {
  TargetForbidden: 'CredentialRenewalForbidden',
  ResponseUntrusted: 'CredentialRenewalUntrusted',
  SecretWriteFailed: 'CredentialNotStored',
};

function toFailure(step: CredentialPlan['type'], error: unknown): RenewalFailure {
  const fallback = step === 'retire' ? 'CredentialNotRetired' : 'CredentialRenewalFailed';
  if (!(error instanceof IssueError)) return { reason: fallback, detail: '' };
  const isOnHub = error.reason === 'SecretWriteFailed';
  const reason = step !== 'retire' || isOnHub ? (REASONS[error.reason] ?? fallback) : fallback;
  return { reason, detail: reason === fallback ? error.message : error.detail };
}
