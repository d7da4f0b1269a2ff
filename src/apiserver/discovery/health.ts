// /healthz, /livez and /readyz: all checks together, or one of them by name.

import { plainText, type Reply } from '../../apimachinery/reply.ts';
import { goQuote } from '../../std/go-text.ts';

export interface HealthCheck {
  readonly name: string;
  /** Why the server is not well, or nothing. */
  readonly problem: () => string | undefined;
}

const ENDPOINTS: ReadonlySet<string> = new Set(['healthz', 'livez', 'readyz']);

/** Passes whenever the server answers at all. */
const PING: HealthCheck = { name: 'ping', problem: () => undefined };

/** The paths under which the checks are found. */
export function healthPaths(checks: readonly HealthCheck[]): readonly string[] {
  return [...ENDPOINTS].flatMap((endpoint) => [`/${endpoint}`, ...[PING, ...checks].map(({ name }) => `/${endpoint}/${name}`)]);
}

/** The answer of a health endpoint, or undefined if `path` is not one. */
export function healthReply(path: string, query: URLSearchParams, checks: readonly HealthCheck[]): Reply | undefined {
  const [, endpoint = '', ...names] = path.split('/');
  if (!ENDPOINTS.has(endpoint)) return undefined;
  const all = [PING, ...checks];
  if (names.length === 0) return allReply(endpoint, query, all);
  const check = all.find(({ name }) => name === names.join('/'));
  if (check === undefined) return plainText(404, '404 page not found\n');
  const problem = check.problem();
  if (problem !== undefined) return plainText(500, `internal server error: ${problem}\n`);
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'ok' };
}

function allReply(endpoint: string, query: URLSearchParams, checks: readonly HealthCheck[]): Reply {
  const excluded = new Set(query.getAll('exclude'));
  const results = checks.map(({ name, problem }) => {
    if (excluded.delete(name)) return { line: `[+]${name} excluded: ok\n`, isWell: true };
    const isWell = problem() === undefined;
    return { line: isWell ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`, isWell };
  });
  const lines = results.map(({ line }) => line).join('');
  const unknown = [...excluded].map(goQuote).join(', ');
  const warning = unknown === '' ? '' : `warn: some health checks cannot be excluded: no matches for ${unknown}\n`;
  if (results.some(({ isWell }) => !isWell)) return plainText(500, `${lines}${warning}${endpoint} check failed\n`);
  return plainText(200, query.has('verbose') ? `${lines}${warning}${endpoint} check passed\n` : 'ok');
}
