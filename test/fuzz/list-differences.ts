// Documented differences of the lists.

import { badRequest } from '../../src/kubernetes/status.ts';
import { type Difference, type Exchange, messageOf, rejection } from './expectation.ts';
import { COMPARED_LISTS, facadePath, listOf, PERMITTED_PATH } from './lists.ts';
import { type FuzzRequest, headerOf, isWatch, queryOf } from './request.ts';
import type { Comparable } from './response.ts';

interface Fields {
  [name: string]: unknown;
}

/** Returns true if the body has one object per line. */
function hasObjects(kube: Comparable): boolean {
  return kube.status === 200 && kube.body !== '';
}

/** Changes each object of a body. */
function mapLines({ body, ...rest }: Comparable, change: (object: Fields, index: number) => Fields): Comparable {
  const lines = body
    .split('\n')
    .map((line, index) => (line.startsWith('{') ? JSON.stringify(change(JSON.parse(line) as Fields, index)) : line));
  return { ...rest, body: lines.join('\n') };
}

/** Removes the managed fields of an object, including one within a table or an event. */
function hideManagedFields(value: Fields): Fields {
  return JSON.parse(JSON.stringify(value, (name, each: unknown) => (name === 'managedFields' ? undefined : each))) as Fields;
}

/** Private fields of a ManagedToken that the tests set. */
const PRIVATE = new Set(['managedFields', 'finalizers', 'tokenDigest', 'secretRef']);

/** Removes the private fields of a ManagedToken, including one within a table or an event. */
function hidePrivateFields(value: Fields): Fields {
  const hide = (name: string, each: unknown) => {
    if (PRIVATE.has(name)) return undefined;
    return name === 'metadata' ? withoutAnnotations(each as Fields) : each;
  };
  return JSON.parse(JSON.stringify(value, hide)) as Fields;
}

/** Returns metadata without annotations, except that of the bookmark after the initial events. */
function withoutAnnotations({ annotations, ...metadata }: Fields): Fields {
  const isBookmark = JSON.stringify(annotations ?? {}).includes('initial-events-end');
  return isBookmark ? { annotations, ...metadata } : metadata;
}

function isTokens({ path }: FuzzRequest): boolean {
  return listOf(path).listKind === 'ManagedTokenList';
}

function isList({ kind }: Fields): boolean {
  return COMPARED_LISTS.some(({ listKind }) => listKind === kind);
}

/** Returns true for a list of all namespaces by the caller who may list one namespace. */
function isPartlyPermitted(request: FuzzRequest): boolean {
  return headerOf(request, 'authorization') === 'Bearer alicetoken' && /^[^?]*\/v1alpha1\/managedtokens$/.test(request.path);
}

export const LIST_DIFFERENCES: readonly Difference[] = [
  {
    row: 'the ManagedTokens of all namespaces, with permission to list them in some namespaces',
    expect: ({ request, kube, resend }) =>
      kube.status === 403 && isPartlyPermitted(request) ? resend({ ...request, path: PERMITTED_PATH }) : undefined,
  },
  {
    row: 'no permission to list',
    expect: async ({ request, kube, resend }) => {
      if (kube.status !== 403) return undefined;
      const { body, ...seen } = await resend({ ...request, headers: { ...request.headers, authorization: 'Bearer admintoken' } });
      if (seen.status !== 200) return { ...seen, body };
      return mapLines({ ...seen, body: body.split('\n').slice(0, 2).join('\n') }, withoutFurtherPages);
    },
  },
  {
    row: 'fields of a Cluster',
    expect: ({ request, kube }) => (hasObjects(kube) && !isTokens(request) ? mapLines(kube, hideManagedFields) : undefined),
  },
  {
    row: 'fields of a ManagedToken',
    expect: ({ request, kube }) => (hasObjects(kube) && isTokens(request) ? mapLines(kube, hidePrivateFields) : undefined),
  },
  {
    row: '`metadata.selfLink` of a list',
    expect: ({ request, kube }) =>
      hasObjects(kube) && !isWatch(request)
        ? mapLines(kube, (object) =>
            isList(object) ? { ...object, metadata: withLink(object['metadata'] as Fields, facadePath(request.path)) } : object,
          )
        : undefined,
  },
  {
    row: 'a watch with a `timeoutSeconds` that is negative or above 9,223,372,036',
    expect: ({ request, kube }) => {
      const isNegative = Number(queryOf(request).get('timeoutSeconds')) < 0;
      return isWatch(request) && isNegative && hasObjects(kube) ? { ...kube, body: '' } : undefined;
    },
  },
  {
    row: 'the last page of a list with a selector',
    expect: async ({ request, kube, resend }) => {
      const lines = kube.body.split('\n');
      if (!hasObjects(kube) || isWatch(request) || !/"continue":"after/.test(lines[1] ?? '')) return undefined;
      const query = queryOf(request);
      const selectors = ['labelSelector', 'fieldSelector'].map((name) => `${name}=${encodeURIComponent(query.get(name) ?? '')}`);
      if (selectors.every((selector) => selector.endsWith('='))) return undefined;
      const all = await resend({ ...request, query: selectors.join('&') });
      return nameOf(all.body.split('\n').at(-1)) === nameOf(lines.at(-1)) ? mapLines(kube, withoutContinue) : undefined;
    },
  },
  {
    row: '`resourceVersion` that cannot be parsed, on get and watch',
    expect: (exchange) => asBadRequest(exchange, 'strconv.ParseUint'),
  },
  {
    row: 'a request for one object with `as=PartialObjectMetadataList` in `Accept`',
    expect: (exchange) => asBadRequest(exchange, 'content is not a list'),
  },
];

/** Returns the name of the object in a line, which may be a row of a table. */
function nameOf(line = ''): string {
  return /"name":"(c\d\d)"/.exec(line)?.[1] ?? '';
}

function withoutFurtherPages(object: Fields): Fields {
  const { continue: _token, remainingItemCount: _count, ...metadata } = object['metadata'] as Fields;
  return { ...object, metadata };
}

function withoutContinue(object: Fields, index: number): Fields {
  if (index !== 1) return object;
  const { continue: _token, ...metadata } = object['metadata'] as Fields;
  return { ...object, metadata: isList(object) ? { continue: '', ...metadata } : metadata };
}

function withLink(metadata: Fields, selfLink: string): Fields {
  const all: Fields = { ...metadata, continue: metadata['continue'] ?? '', selfLink };
  return Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns an error with 500 and these words as 400; undefined for other responses. */
async function asBadRequest({ request, kube, resend }: Exchange, words: string): Promise<Comparable | undefined> {
  if (kube.status !== 500) return undefined;
  const message = messageOf(request.method === 'HEAD' ? await resend({ ...request, method: 'GET' }) : kube);
  return message.includes(words) ? rejection(request, badRequest(message)) : undefined;
}
