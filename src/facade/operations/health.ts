// Health endpoints as in kube-apiserver: /livez and /readyz run named checks, each of which also has its own path. With ?verbose,
// or if a check fails, the response of /livez and /readyz lists the checks.

import { createPlainTextReply, type Reply } from '../../kubernetes/reply.ts';

/** A named check; `passes` returns true while the check passes. */
export interface Check {
  readonly name: string;
  readonly passes: () => boolean;
}

export interface HealthChecks {
  /** Liveness checks. Kubernetes restarts the container if one of them keeps failing. */
  readonly livez: readonly Check[];
  /** Readiness checks. Services send the pod no requests while one of them fails. */
  readonly readyz: readonly Check[];
}

/** Returns the response for /livez, /readyz and the paths of their checks, 404 for an unknown check, or undefined for any other path. */
export function createHealthReply(health: HealthChecks, path: string, query: URLSearchParams): Reply | undefined {
  const [, endpoint = '', name, ...more] = path.split('/');
  if ((endpoint !== 'livez' && endpoint !== 'readyz') || more.length > 0) return undefined;
  const checks = health[endpoint];
  if (name === undefined || name === '') return runChecks(endpoint, checks, query);
  const check = checks.find((each) => each.name === name);
  if (check === undefined) return createPlainTextReply(404, '404 page not found\n');
  return check.passes() ? createPlainTextReply(200, 'ok') : createPlainTextReply(500, `internal server error: ${WITHHELD_REASON}\n`);
}

const WITHHELD_REASON = 'reason withheld';

function runChecks(endpoint: string, checks: readonly Check[], query: URLSearchParams): Reply {
  const excluded = new Set(query.getAll('exclude'));
  const lines = checks.map((check) => ({ ...check, line: excluded.has(check.name) ? EXCLUDED : check.passes() ? OK : FAILED }));
  const isHealthy = lines.every(({ line }) => line !== FAILED);
  const known = new Set(checks.map(({ name }) => name));
  const unknown = [...excluded].filter((name) => !known.has(name)).map((name) => `"${name}"`);
  const warning = unknown.length === 0 ? '' : `warn: some health checks cannot be excluded: no matches for ${unknown.join(', ')}\n`;
  const report = lines.map(({ name, line }) => `${line.sign}${name} ${line.text}\n`).join('');
  if (!isHealthy) return createPlainTextReply(500, `${report}${warning}${endpoint} check failed\n`);
  return createPlainTextReply(200, query.has('verbose') ? `${report}${warning}${endpoint} check passed\n` : 'ok');
}

const OK = { sign: '[+]', text: 'ok' };
const EXCLUDED = { sign: '[+]', text: 'excluded: ok' };
const FAILED = { sign: '[-]', text: `failed: ${WITHHELD_REASON}` };
