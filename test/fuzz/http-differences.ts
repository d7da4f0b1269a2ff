// Documented differences of both endpoints: callers, paths and methods.

import { badRequest, methodNotAllowed, pathNotFound, statusError, unauthorized } from '../../src/kubernetes/status.ts';
import { type Difference, type Exchange, rejection } from './expectation.ts';
import { type FuzzRequest, headerOf, isWatch, pathOn } from './request.ts';
import type { Comparable } from './response.ts';

const TOKEN_PATH = /^\/api\/v1\/namespaces\/([^/]*)\/serviceaccounts\/([^/]*)\/token$/;
const LIST_PATH =
  /^\/apis\/(?:registry\.purser\.dev\/v1alpha1\/clusters(?:\/([^/]*))?|tokens\.purser\.dev\/v1alpha1\/(?:namespaces\/([^/]*)\/managedtokens(?:\/([^/]*))?|managedtokens))$/;
const LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Returns the names in the path; undefined for a path that the façade does not serve. */
export function namesIn({ endpoint, path }: FuzzRequest): readonly string[] | undefined {
  const decoded = path.replace(/%(?!2f)[2-6][0-9a-f]|%7[0-9a-e]/gi, decodeURIComponent);
  const found = (endpoint === 'token' ? TOKEN_PATH : LIST_PATH).exec(decoded);
  return found?.slice(1).filter((name) => name !== undefined);
}

function hasValidNames(request: FuzzRequest): boolean {
  const names = namesIn(request)?.map((name) => decodeURIComponent(name)) ?? [];
  const isNamespace = (index: number) => index === 0 && request.path.includes('/namespaces/');
  return names.every((name, index) => (isNamespace(index) ? LABEL : SUBDOMAIN).test(name));
}

function pathRejection({ request }: Exchange) {
  const path = pathOn('facade', request);
  if (/%(?![0-9a-f]{2})/i.test(path)) return rejection(request, badRequest('the path cannot be decoded'));
  if (/%[01][0-9a-f]|%7f/i.test(path)) return rejection(request, badRequest('the path contains control characters'));
  return hasValidNames(request) ? undefined : rejection(request, pathNotFound());
}

const BEARER = /^bearer ([^ ]+)$/i;

/** Returns true if the first Authorization header has the form that the façade accepts. */
function hasBearer(request: FuzzRequest): boolean {
  return BEARER.test(headerOf(request, 'authorization').trim());
}

function rejectAnonymous({ request }: Exchange) {
  return rejection(request, unauthorized(), { 'www-authenticate': 'Bearer' });
}

/**
 * Returns the request with an unknown server version in each protobuf clause of `Accept`: the router of kube-apiserver accepts such a
 * clause, but kube-apiserver does not respond with protobuf.
 */
export function withoutProtobuf(request: FuzzRequest): FuzzRequest {
  const accept = acceptClauses(request).map((clause) => (isProtobuf(clause) ? `${clause.split(';')[0]};sv=none` : clause));
  return accept.join(',') === '' ? request : { ...request, headers: { ...request.headers, accept: accept.join(',') } };
}

/** Returns the response without protobuf, or 406 if nothing else is acceptable. */
async function otherRepresentation({ request, kube, resend }: Exchange): Promise<Comparable | undefined> {
  // Protobuf was not chosen.
  if (kube.status < 300 && !kube.headers['content-type']?.includes('protobuf')) return undefined;
  const response = await resend(request);
  const isListed = response.body.includes('only the following media types') && response.body !== kube.body;
  const isUnavailable = request.endpoint === 'token' && isListed;
  return isUnavailable ? rejection(request, statusError('NotAcceptable', JSON_OR_YAML)) : response;
}

function acceptClauses(request: FuzzRequest): readonly string[] {
  return headerOf(request, 'accept').split(',');
}

function isProtobuf(clause: string): boolean {
  return clause.includes('protobuf');
}

const JSON_OR_YAML = 'only the following media types are accepted: application/json, application/yaml';

/** Difference that the façade checks first. */
export const PATH_DIFFERENCE: Difference = {
  row: 'path with `//`, `..`, `%2F`, a trailing slash, or invalid names',
  isFinal: true,
  expect: pathRejection,
};

/** Differences of the representation. */
export const PROTOBUF_DIFFERENCES: readonly Difference[] = [
  {
    row: '`Accept` with only protobuf',
    expect: (exchange) => (acceptClauses(exchange.request).every(isProtobuf) ? otherRepresentation(exchange) : undefined),
  },
  {
    row: '`Accept` with protobuf and JSON',
    expect: (exchange) => {
      const clauses = acceptClauses(exchange.request);
      return clauses.some(isProtobuf) && !clauses.every(isProtobuf) ? otherRepresentation(exchange) : undefined;
    },
  },
];

export const HTTP_DIFFERENCES: readonly Difference[] = [
  PATH_DIFFERENCE,
  {
    row: 'two `Authorization` headers',
    isFinal: true,
    expect: ({ request }) =>
      Array.isArray(request.headers['authorization'])
        ? rejection(request, badRequest('the request has more than one Authorization header'))
        : undefined,
  },
  {
    row: 'no credentials',
    isFinal: true,
    expect: (exchange) => (exchange.kube.body.includes('system:anonymous') ? rejectAnonymous(exchange) : undefined),
  },
  {
    row: 'more than one word, or invalid characters, after `Bearer`',
    isFinal: true,
    expect: (exchange) => (hasBearer(exchange.request) ? undefined : rejectAnonymous(exchange)),
  },
  {
    row: '`Impersonate-*` or `X-Remote-*` with a bearer token',
    isFinal: true,
    expect: ({ request }) => {
      const header = Object.keys(request.headers).find((name) => /^(?:impersonate|x-remote)-/.test(name));
      if (header === undefined) return undefined;
      return rejection(request, badRequest(`the ${header} header is not supported`));
    },
  },
  {
    row: 'credentials that the hub rejects',
    isFinal: true,
    expect: (exchange) => (exchange.kube.status === 401 ? rejectAnonymous(exchange) : undefined),
  },
  {
    row: 'a path that is not served',
    isFinal: true,
    expect: ({ request }) => (namesIn(request) === undefined ? rejection(request, pathNotFound()) : undefined),
  },
  {
    row: '`HEAD` with `watch=true`',
    isFinal: true,
    expect: ({ request }) =>
      request.method === 'HEAD' && isWatch(request) ? rejection(request, methodNotAllowed(), { allow: 'GET' }) : undefined,
  },
  {
    row: 'a method that is not served',
    isFinal: true,
    expect: ({ request, kube }) => {
      const isServed = request.endpoint === 'token' ? request.method === 'POST' : ['GET', 'HEAD'].includes(request.method);
      if (isServed || ![403, 405].includes(kube.status)) return undefined;
      return rejection(request, methodNotAllowed(), {
        allow: request.endpoint === 'token' ? 'POST' : isWatch(request) ? 'GET' : 'GET, HEAD',
      });
    },
  },
  ...PROTOBUF_DIFFERENCES,
];
