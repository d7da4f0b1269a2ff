// /healthz, /livez and /readyz. A server that answers is well: it reads from memory, and a disk that refuses writes fails those alone.

import { plainText, type Reply } from '../../src/kubernetes/reply.ts';
import { goQuote } from '../../src/std/go-text.ts';

const ENDPOINTS: readonly string[] = ['healthz', 'livez', 'readyz'];
/** The one check; it passes whenever the server answers. */
const CHECK = 'ping';

/** Paths of the endpoints and of their check. */
export const HEALTH_PATHS: readonly string[] = ENDPOINTS.flatMap((endpoint) => [`/${endpoint}`, `/${endpoint}/${CHECK}`]);

/** The answer of a health endpoint, or undefined if `path` is not one. */
export function healthReply(path: string, query: URLSearchParams): Reply | undefined {
  const [, endpoint = '', ...names] = path.split('/');
  if (!ENDPOINTS.includes(endpoint)) return undefined;
  if (names.length === 0) return plainText(200, query.has('verbose') ? `${results(query)}${endpoint} check passed\n` : 'ok');
  if (names.join('/') !== CHECK) return plainText(404, '404 page not found\n');
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'ok' };
}

function results(query: URLSearchParams): string {
  const excluded = new Set(query.getAll('exclude'));
  const line = excluded.delete(CHECK) ? `[+]${CHECK} excluded: ok\n` : `[+]${CHECK} ok\n`;
  const unknown = [...excluded].map(goQuote).join(', ');
  return unknown === '' ? line : `${line}warn: some health checks cannot be excluded: no matches for ${unknown}\n`;
}
