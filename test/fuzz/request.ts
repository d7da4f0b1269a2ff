// One random request, and its form for each of the two servers.

import { CLUSTER } from '../contract/token-world.ts';
import { facadePath } from './lists.ts';

export type Headers = Readonly<Record<string, string | readonly string[]>>;

/** A request to both servers. */
export interface FuzzRequest {
  readonly endpoint: 'token' | 'list';
  readonly method: string;
  /** Path on kube-apiserver, without a query. */
  readonly path: string;
  /** Query, percent-encoded, with placeholders such as `{version:2}` and `{continue}`. */
  readonly query: string;
  readonly headers: Headers;
  readonly body?: Buffer;
  /** Path on kube-apiserver and query of the list whose continue token replaces `{continue}`; undefined without this placeholder. */
  readonly firstPage?: string;
}

/** Server that a request is sent to. */
export type Side = 'kube' | 'facade';

/** Returns the path of a request on one of the servers. */
export function pathOn(side: Side, { endpoint, path }: FuzzRequest): string {
  if (side === 'kube') return path;
  return endpoint === 'token' ? `/orchestrator/${CLUSTER}${path}` : facadePath(path);
}

/** Returns the value of a header; the first of repeated ones, empty if absent. */
export function headerOf({ headers }: FuzzRequest, name: string): string {
  const value = headers[name] ?? '';
  return typeof value === 'string' ? value : (value[0] ?? '');
}

/** Returns the decoded query. */
export function queryOf({ query }: FuzzRequest): URLSearchParams {
  return new URLSearchParams(query);
}

/** Returns true for a watch, whose response has no end without a timeout. */
export function isWatch(request: FuzzRequest): boolean {
  const value = queryOf(request).get('watch');
  return request.endpoint === 'list' && value !== null && value !== '0' && value.toLowerCase() !== 'false';
}

/** Returns a request as a curl command. `target` is the path and query; the variable URL in the command is the URL of the server. */
export function toCurl(request: FuzzRequest, target: string): string {
  const headers = Object.entries(request.headers).flatMap(([name, value]) => [value].flat().map((each) => `${name}: ${each}`));
  const body = request.body === undefined ? [] : ['--data-binary', quote(request.body.toString('latin1'))];
  const method = request.method === 'HEAD' ? ['-I'] : ['-X', request.method];
  return ['curl', '-k', ...method, ...headers.flatMap((header) => ['-H', quote(header)]), ...body, quote(`$URL${target}`)].join(' ');
}

function quote(text: string): string {
  const printable = /^[\x20-\x7e]*$/.test(text);
  if (printable) return `'${text.replaceAll("'", String.raw`'\''`)}'`;
  const escaped = text.replace(/[^\x20-\x7e]|['\\]/g, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `$'${escaped}'`;
}
