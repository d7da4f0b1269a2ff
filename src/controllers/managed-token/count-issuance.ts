// Attempts to issue a token, as metrics tell of them.

import type { TokenDeps } from './deps.ts';
import type { Step } from './step.ts';

/** Counts what came of a plan to issue a token; nothing where it was put off. */
export function countIssuance({ metrics }: Pick<TokenDeps, 'metrics'>, step: Step, durationMs: number): void {
  const { observation, issued, error, failure } = step;
  const cluster = observation.token.spec.clusterName;
  const refused = failure?.reason === 'Forbidden' ? failure.reason : undefined;
  const reason = issued ?? error?.reason ?? refused;
  if (reason !== undefined) metrics?.issued({ cluster, result: issued === undefined ? 'failure' : 'success', reason, durationMs });
}
