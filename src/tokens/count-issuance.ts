// Attempts to issue a token, as metrics tell of them.

import { isLastingReason } from '../targets/issue-error.ts';
import type { IssuePlan } from './policy/plan.ts';
import { renewAt } from './policy/rotation.ts';
import type { TokenDeps } from './run.ts';
import type { Step } from './step.ts';

/** Counts what came of a plan to issue a token; nothing where it was put off. */
export function countIssuance(
  { metrics, clock }: Pick<TokenDeps, 'metrics' | 'clock'>,
  plan: IssuePlan,
  step: Step,
  durationMs: number,
): void {
  const { observation, issued, error, failure } = step;
  const cluster = observation.token.spec.clusterName;
  const isFinal = failure !== undefined && (failure.reason === 'Forbidden' || isLastingReason(failure.reason));
  const reason = issued ?? error?.reason ?? (isFinal ? failure.reason : undefined);
  if (reason === undefined) return;
  const latenessMs = latenessOf(plan, step, clock.now());
  metrics?.issued({ cluster, result: issued === undefined ? 'failure' : 'success', reason, durationMs, latenessMs });
}

/** Against the time of the renewal itself, however often it was tried; undefined for other tokens. */
function latenessOf({ reason, previous }: IssuePlan, { observation }: Step, now: number): number | undefined {
  if (reason !== 'RotationDue' || previous === undefined) return undefined;
  const { metadata, spec } = observation.token;
  return Math.max(0, now - renewAt(previous, spec.rotation.renewBefore, metadata.uid ?? ''));
}
