// Checks requests to the server of `purser ui`. The server adds a credential, so it must reject requests from other users of the machine
// and from web pages of other origins.

import { createHash, timingSafeEqual } from 'node:crypto';

/** A request as it arrived. Header names are lowercase. */
export interface UiRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The server that requests must be addressed to. */
export interface OwnServer {
  /** Host and port, as browsers send them. */
  readonly authority: string;
  /** First segment of all paths. Only the user knows it. */
  readonly secret: string;
}

/** Path (without the secret) and query of an accepted request, or status and cause of a rejected request. */
export type UiAdmission =
  | { readonly path: string; readonly query: Readonly<Record<string, string>> }
  | { readonly status: 403 | 404 | 405 | 421; readonly cause: string };

/** Path of the page. A link on any web page may open it, because the address contains the secret. */
const PAGE = '/ui/';

/** Accepts or rejects a request. Never throws. */
export function admit({ method, url, headers }: UiRequest, own: OwnServer): UiAdmission {
  // Prevents DNS rebinding: if another host name resolved to this address, pages of that host could read responses.
  if (headers['host'] !== own.authority)
    return { status: 421, cause: 'The Host header does not name this server. Open the address that purser ui printed.' };
  // Splits the URL as it arrived: a URL parser would take //name and /\name for hosts, and throw for some of them.
  const [target = '', search = ''] = url.split(/\?(.*)/s);
  const [before, secret = '', ...rest] = target.split('/');
  if (before !== '' || !isEqual(secret, own.secret)) return { status: 404, cause: 'Not found. Open the address that purser ui printed.' };
  if (method !== 'GET') return { status: 405, cause: 'Only GET is supported.' };
  const path = `/${rest.join('/')}`;
  if (!isFromOwnPage(path, headers, own))
    return { status: 403, cause: 'Requests from other web pages are not accepted. Open the address that purser ui printed.' };
  return { path, query: Object.fromEntries(new URLSearchParams(search)) };
}

/**
 * Returns false for a request from another web page, unless the request opens the page. Browsers set Origin and the Sec-Fetch headers, and
 * web pages cannot set them. A request without these headers is accepted, because its sender knows the secret.
 */
function isFromOwnPage(path: string, headers: UiRequest['headers'], { authority }: OwnServer): boolean {
  const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': destination } = headers;
  if (origin !== undefined && origin !== `http://${authority}`) return false;
  if (site === undefined || site === 'same-origin' || site === 'none') return true;
  return path === PAGE && mode === 'navigate' && destination === 'document';
}

/** Compares strings in a time that does not depend on their common prefix. */
function isEqual(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}
