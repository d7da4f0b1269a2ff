// The `continue` parameter of paged lists: start and revision of the next page.

import { encodeGoJsonString } from '../../std/go-text.ts';
import { int64, struct, text } from '../schema/go-struct.ts';
import { badRequest } from '../status.ts';
import { decodeTyped } from './decode-typed.ts';
import type { JsonNode } from './json-node.ts';
import { parseJson } from './json-parse.ts';

const VERSION = 'meta.k8s.io/v1';

export interface ContinueToken {
  /** Revision of all pages; -1 requests the latest. */
  readonly revision: bigint;
  /** First key that the page can contain, without a leading slash. */
  readonly start: string;
}

/** Returns the token for the page after the object with key `lastKey`. */
export function encodeContinue(revision: number | bigint, lastKey: string): string {
  return encode(revision, `/${lastKey}\0`);
}

/** Returns the token for the same page at the latest revision. Servers offer it when the revision of `token` has expired. */
export function encodeContinueAtLatest(token: ContinueToken): string {
  return encode(-1n, token.start);
}

/** Decodes a token. Throws 400 with Kubernetes' message if the token is invalid. */
export function decodeContinue(token: string): ContinueToken {
  const { v = '', rv = 0, start = '' } = parse(token);
  if (v !== VERSION) throw invalidToken(`server does not recognize this encoded version ${v}`);
  if (rv === 0) throw invalidToken(`incorrect encoded start resourceVersion (version ${VERSION})`);
  if (start === '') throw invalidToken(`encoded start key empty (version ${VERSION})`);
  const key = start.startsWith('/') ? start : `/${start}`;
  if (cleanPath(key) !== key) throw invalidToken(start);
  return { revision: BigInt(rv), start: key.slice(1) };
}

function encode(revision: number | bigint, start: string): string {
  const json = `{"v":"${VERSION}","rv":${revision},"start":${encodeGoJsonString(start)}}`;
  return Buffer.from(json).toString('base64url');
}

const TOKEN = struct('storage.continueToken', { v: text(), rv: int64(), start: text() });

function parse(token: string): { readonly v?: string; readonly rv?: number | bigint; readonly start?: string } {
  try {
    return decodeTyped(toLowerCaseKeys(parseJson(decodeBase64Url(token))), TOKEN).value;
  } catch (error) {
    throw invalidToken((error as Error).message);
  }
}

/** Converts field names to lower case, because Go matches them in any case. */
function toLowerCaseKeys(node: JsonNode): JsonNode {
  if (node.type !== 'object') return node;
  return { type: 'object', entries: node.entries.map(({ key, value }) => ({ key: key.toLowerCase(), value })) };
}

/** Decodes base64url without padding. As in Go, the error contains the offset of the first invalid byte. */
function decodeBase64Url(token: string): Buffer {
  const bad = token.search(/[^A-Za-z0-9_-]/);
  if (bad !== -1) throw new Error(`illegal base64 data at input byte ${bad}`);
  if (token.length % 4 === 1) throw new Error(`illegal base64 data at input byte ${token.length - 1}`);
  return Buffer.from(token, 'base64url');
}

/** Cleans a key like path.Clean: removes empty, `.` and `..` segments and a trailing slash. */
function cleanPath(path: string): string {
  const kept: string[] = [];
  for (const segment of path.split('/')) {
    if (segment === '..') kept.pop();
    else if (segment !== '' && segment !== '.') kept.push(segment);
  }
  return `/${kept.join('/')}`;
}

function invalidToken(why: string): Error {
  return badRequest(`invalid continue token: continue key is not valid: ${why}`);
}
