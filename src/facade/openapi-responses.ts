// Headers and error responses of the façade's OpenAPI document.

import { createRef, type OpenApiSchema } from './openapi-schemas.ts';

/** Response Object of OpenAPI. */
export interface OpenApiResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header>>;
  readonly content: Readonly<Record<string, { readonly schema: OpenApiSchema }>>;
}

interface Header {
  readonly description: string;
  readonly required: boolean;
  readonly schema: OpenApiSchema;
}

/** Returns the headers of a successful response. */
export function createSuccessHeaders({ isToken = false, varies = false }: { readonly isToken?: boolean; readonly varies?: boolean }) {
  return {
    'Audit-Id': AUDIT_ID,
    'Cache-Control': createCacheControlHeader(isToken ? 'no-cache, no-store, private' : 'no-cache, private'),
    ...(isToken && { Warning: createHeader('Warnings with code 299, for example about unknown fields.', { type: 'string' }, false) }),
    ...(varies && { Vary: createHeader('Request headers that the response depends on.', { type: 'string' }) }),
  };
}

const AUDIT_ID = createHeader('Request ID: the Audit-Id header of the request, or a random UUID.', { type: 'string', minLength: 1 });

function createCacheControlHeader(value: string): Header {
  return createHeader('Directives for caches.', { type: 'string', enum: [value] });
}

function createHeader(description: string, schema: OpenApiSchema, required = true): Header {
  return { description, required, schema };
}

const ERRORS = {
  '400': 'The request is malformed or not supported; the message names the cause.',
  '401': 'The bearer token is missing, or the hub does not accept it.',
  '403': 'The caller lacks the permission on the hub, or Purser or the cluster does not allow the token; the message names the cause.',
  '405': 'The method is not allowed on this path.',
  '406': 'The response is not available in any format that the Accept header allows.',
  '408': 'The request did not arrive within 9 seconds.',
  '409': 'A UID in the request does not match the service account or the bound object.',
  '410': 'The resource version or the continue token has expired: list again.',
  '413': 'The body is too large.',
  '415': 'The media type, the charset or the encoding of the body is not supported.',
  '417': 'The Expect header is not 100-continue.',
  '422': 'A required field is missing, or a field or a parameter has an invalid value.',
  '429': 'Too many requests; retry after the time in Retry-After.',
  '431': 'The request headers are larger than 16 KiB.',
  '4XX': 'Another error from the cluster, for example from an admission webhook.',
  '500': 'Unexpected error; the message contains the request ID.',
} as const;

/** Descriptions of errors whose causes depend on the operation. An operation without a description for 404 never returns 404. */
export interface OwnErrors {
  readonly '404'?: string;
  readonly '503': string;
  readonly '504': string;
}

type CommonCode = keyof typeof ERRORS;
type ErrorCode = CommonCode | keyof OwnErrors;

/** Errors of all operations. */
const COMMON_CODES: readonly CommonCode[] = ['400', '401', '405', '406', '408', '417', '429', '431', '500'];
/** Error codes, besides 400, of HTTP/1.1 requests that Node.js does not pass to the router. These responses have no Audit-Id. */
const REJECTED_BY_NODE: ReadonlySet<ErrorCode> = new Set(['408', '431']);

/** Returns the error responses of an operation: the common ones, those with codes in `more`, and its own. */
export function createErrorResponses(
  method: 'GET' | 'POST',
  more: readonly CommonCode[],
  own: OwnErrors,
): Readonly<Record<string, OpenApiResponse>> {
  const descriptions = { ...Object.fromEntries([...COMMON_CODES, ...more].map((code) => [code, ERRORS[code]])), ...own };
  const responses = Object.entries(descriptions)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([code, description]) => [code, createErrorResponse(code as ErrorCode, method, description)] as const);
  return Object.fromEntries(responses);
}

function createErrorResponse(code: ErrorCode, method: string, description: string): OpenApiResponse {
  const json = { 'application/json': { schema: createRef('Status') } };
  const auditId = { ...AUDIT_ID, required: code !== '400' && !REJECTED_BY_NODE.has(code) };
  return {
    description,
    headers: {
      'Audit-Id': auditId,
      'Cache-Control': createCacheControlHeader('no-cache, private'),
      ...createErrorHeaders(code, method),
    },
    content: { ...json, 'application/yaml': json['application/json'] },
  };
}

const RETRY_AFTER = createHeader('Time to wait before a retry, in seconds.', { type: 'integer', minimum: 1 });

function createErrorHeaders(code: ErrorCode, method: string): Readonly<Record<string, Header>> {
  if (code === '405') return { Allow: createHeader('Methods that the path allows.', { type: 'string', enum: toAllowValues(method) }) };
  return HEADERS[code] ?? {};
}

/** Returns the possible values of the Allow header. The path of a list does not allow HEAD for a watch. */
function toAllowValues(method: string): readonly string[] {
  return method === 'GET' ? ['GET, HEAD', 'GET'] : [method];
}

const HEADERS: Partial<Record<ErrorCode, Readonly<Record<string, Header>>>> = {
  '401': { 'WWW-Authenticate': createHeader('Authentication scheme.', { type: 'string', enum: ['Bearer'] }) },
  '403': {
    'X-Content-Type-Options': createHeader('Prevents browsers from guessing the content type.', { type: 'string', enum: ['nosniff'] }),
  },
  '429': { 'Retry-After': RETRY_AFTER },
  '503': { 'Retry-After': RETRY_AFTER },
  '504': { 'Retry-After': { ...RETRY_AFTER, required: false } },
};
