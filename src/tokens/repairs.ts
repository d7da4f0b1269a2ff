// Repairs that do not last. Whoever undoes what we write, a webhook or another controller, is answered ever more rarely, and
// people are told.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { IssueReason } from '../api/reasons.ts';
import { tokenFailure } from './policy/messages.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { IssuePlan, RewritePlan, TokenFailure } from './policy/plan.ts';
import { nextLookAt } from './policy/plan-token.ts';
import { latestRetryAt } from './policy/rotation.ts';
import { type TokenState, tokenState } from './policy/state.ts';
import type { TokenDeps } from './run.ts';
import type { Step } from './step.ts';

/** The end of a run whose write has to wait; undefined when it may go ahead. What falls due meanwhile does not wait. */
export function pausedStep(deps: TokenDeps, plan: IssuePlan | RewritePlan, observation: TokenObservation): Step | undefined {
  const now = deps.clock.now();
  const state = tokenState(observation, now);
  const unwrittenMs = plan.type === 'issue' ? unwrittenPauseMs(deps, observation, state) : 0;
  const undoneMs = isRepair(deps, plan, observation) ? repairPauseMs(deps, observation.token) : 0;
  if (unwrittenMs === 0 && undoneMs === 0) return undefined;
  const { failure } = deps.memory.of(observation.token.metadata.uid ?? '');
  const requeueAt = nextLookAt(now, [now + Math.max(unwrittenMs, undoneMs), state.renewAt, state.record?.expiresAt]);
  return { observation, isDone: true, failure: undoneMs > 0 ? undone(observation.token) : failure, requeueAt };
}

/** How long the next issuance has to wait after one that could not be written: while the old token lives, not too long. */
function unwrittenPauseMs({ memory, clock }: TokenDeps, { token }: TokenObservation, { record }: TokenState): number {
  const { issuing, lastIssuedAt } = memory.of(token.metadata.uid ?? '');
  const leftMs = issuing.leftMs(clock.monotonic());
  if (lastIssuedAt === undefined || record === undefined || record.expiresAt <= lastIssuedAt) return leftMs;
  return Math.max(0, Math.min(leftMs, latestRetryAt(record.expiresAt, lastIssuedAt) - clock.now()));
}

/** Whether a plan puts right what somebody else did to the Secret. */
export function isRepair(deps: TokenDeps, plan: IssuePlan | RewritePlan, { token, secret }: TokenObservation): boolean {
  if (plan.type === 'rewrite' || DAMAGES.has(plan.reason)) return true;
  const { written } = deps.memory.of(token.metadata.uid ?? '');
  return written !== undefined && written.tokenDigest !== secret?.tokenDigest;
}

/** How long the next repair has to wait. */
export function repairPauseMs({ memory, clock }: TokenDeps, { metadata }: ManagedToken): number {
  return memory
    .of(metadata.uid ?? '')
    .repairs(metadata.generation)
    .leftMs(clock.monotonic());
}

/** The Secret was put right. */
export function repaired({ memory, clock }: TokenDeps, { metadata }: ManagedToken): void {
  memory
    .of(metadata.uid ?? '')
    .repairs(metadata.generation)
    .tried(clock.monotonic());
}

function undone(token: ManagedToken): TokenFailure {
  return tokenFailure('SecretWriteFailed', token, 'another client reverts it again and again');
}

const DAMAGES: ReadonlySet<IssueReason> = new Set(['SecretMissing', 'TokenMissing', 'TokenAltered']);
