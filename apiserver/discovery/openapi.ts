// OpenAPI v3: an index, and one document for each group and version, addressed by its hash and then cached for good.

import { createHash } from 'node:crypto';
import type { Reply } from '../../src/kubernetes/reply.ts';
import { parseAccept } from '../../src/kubernetes/wire/accept.ts';
import { compareUtf8, goStructJson } from '../../src/std/go-text.ts';
import type { Kind } from '../kinds/kind.ts';
import { openApiDocument } from '../schema/openapi/document.ts';
import type { DiscoveryRequest, DiscoveryState } from './request.ts';

const ROOT = '/openapi/v3';

/** The answer to a path under `/openapi/v3`, or undefined if `path` is elsewhere. */
export function openApiReply(request: DiscoveryRequest, { kinds, now }: DiscoveryState): Reply | undefined {
  const { path } = request;
  if (path !== ROOT && !path.startsWith(`${ROOT}/`)) return undefined;
  const documents = documentsOf(kinds);
  if (path === ROOT) return index(documents);
  const document = documents.get(path.slice(ROOT.length + 1));
  return document === undefined ? { status: 404, headers: {}, body: '' } : documentReply(request, document, now);
}

interface Document {
  readonly body: string;
  readonly hash: string;
}

const remembered = new WeakMap<readonly Kind[], ReadonlyMap<string, Document>>();

/** Documents by their place, such as `apis/coordination.k8s.io/v1`; made once for each state of the registry. */
function documentsOf(kinds: readonly Kind[]): ReadonlyMap<string, Document> {
  const known = remembered.get(kinds);
  if (known !== undefined) return known;
  const byPlace = Map.groupBy(kinds, ({ group, version }) => (group === '' ? `api/${version}` : `apis/${group}/${version}`));
  const documents = new Map(
    [...byPlace]
      .sort(([a], [b]) => compareUtf8(a, b))
      .map(([place, members]) => {
        const body = goStructJson(openApiDocument(members));
        return [place, { body, hash: createHash('sha512').update(body).digest('hex').toUpperCase() }];
      }),
  );
  remembered.set(kinds, documents);
  return documents;
}

function index(documents: ReadonlyMap<string, Document>): Reply {
  const paths = Object.fromEntries(
    [...documents].map(([place, { hash }]) => [place, { serverRelativeURL: `${ROOT}/${place}?hash=${hash}` }]),
  );
  // kube-apiserver lets Go guess this type from the content, and Go does not know JSON.
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: goStructJson({ paths }) };
}

function documentReply({ path, query, accept, ifNoneMatch }: DiscoveryRequest, { body, hash }: Document, now: number): Reply {
  const vary = { vary: 'Accept' };
  if (!acceptsJson(accept)) return { status: 406, headers: vary, body: '' };
  const headers = { 'content-type': 'application/json', etag: `"${hash}"`, ...vary };
  const wanted = query.get('hash') ?? '';
  if (wanted !== '' && wanted !== hash) return { status: 301, headers: { ...headers, location: `${path}?hash=${hash}` }, body: '' };
  const caching = wanted === '' ? {} : { 'cache-control': 'public, immutable', expires: oneYearAfter(now) };
  if (ifNoneMatch === headers.etag) return { status: 304, headers: { etag: headers.etag, ...vary, ...caching }, body: '' };
  return { status: 200, headers: { ...headers, ...caching }, body };
}

function acceptsJson(accept = ''): boolean {
  const clauses = parseAccept(accept);
  return (
    clauses.length === 0 ||
    clauses.some(({ type, subtype }) => (type === 'application' || type === '*') && (subtype === 'json' || subtype === '*'))
  );
}

function oneYearAfter(now: number): string {
  const then = new Date(now);
  then.setUTCFullYear(then.getUTCFullYear() + 1);
  return then.toUTCString().replace('GMT', 'UTC');
}
