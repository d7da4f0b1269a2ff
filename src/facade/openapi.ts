// The OpenAPI v3 document of the façade. docs/api.md is generated from it.

import { type Reply, textReply } from '../kubernetes/reply.ts';
import { negotiateDocument } from '../kubernetes/wire/negotiate.ts';
import { type Listing, listPath } from './listwatch/filtered-list.ts';
import { listSchema, type OpenApiSchema, SCHEMAS } from './openapi-schemas.ts';
import type { PublicDocument } from './router.ts';

/** Returns the public document of a façade with this first path segment and these lists. */
export function openApiDocument(path: string, listings: readonly Listing[]): PublicDocument {
  const text = JSON.stringify(openApi(path, listings));
  const replies = new Map<string, Reply>();
  return {
    path: '/openapi/v3',
    reply({ preferences }) {
      const representation = negotiateDocument(preferences, { routed: false });
      const key = `${representation.contentType} ${representation.pretty}`;
      const reply = replies.get(key) ?? toSharedReply(textReply(200, text, representation));
      replies.set(key, reply);
      return reply;
    },
  };
}

/** Returns a reply whose bytes all responses share. */
function toSharedReply(reply: Reply): Reply {
  return { ...reply, body: Buffer.from(reply.body as string) };
}

/** Returns the content of the document. */
export function openApi(path: string, listings: readonly Listing[]) {
  return {
    openapi: '3.0.0',
    info: { title: 'Purser', version: 'v1alpha1' },
    security: [{ bearer: [] }],
    paths: {
      [`/${path}/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`]: { post: CREATE_TOKEN },
      ...Object.fromEntries(listings.flatMap(listOperations)),
    },
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, schemas: schemasOf(listings) },
  };
}

function schemasOf(listings: readonly Listing[]): Readonly<Record<string, OpenApiSchema>> {
  const listed = listings.flatMap((listing) => [
    [listing.kind.kind, listing.schema],
    [listing.kind.listKind, listSchema(listing)],
  ]);
  return { ...SCHEMAS, ...Object.fromEntries(listed) };
}

const ERRORS = {
  '400': 'The request is malformed, or has an unsupported parameter.',
  '401': 'The bearer token is missing, or the hub does not accept it.',
  '403': 'RBAC on the hub does not allow the request; the message names the missing permission.',
  '404': 'The cluster, the service account or the bound object was not found.',
  '406': 'The response is not available in any form that the Accept header allows.',
  '409': 'The UID in the request belongs to another object.',
  '410': 'The resource version or the continue token has expired: list again.',
  '413': 'The body is too large.',
  '415': 'The body is neither JSON, nor YAML, nor protobuf.',
  '422': 'A field has an invalid value.',
  '429': 'Too many requests; retry after the time in Retry-After.',
  '503': 'The hub or the cluster did not respond properly; retry after the time in Retry-After.',
  '504': 'The cluster did not respond, or the requested resource version was not reached, in time.',
} as const;

const CREATE_TOKEN = {
  operationId: 'createToken',
  summary: 'Issues a token for a service account of a registered cluster.',
  description:
    'Body and response are a TokenRequest of authentication.k8s.io/v1, as JSON or YAML; the body may also be protobuf, as kubectl sends it. The caller needs the verb issue on clusters/token in registry.purser.dev, under the name <cluster>/<namespace>/<serviceaccount>, <cluster>/<namespace> or <cluster>.',
  parameters: [
    inPath('cluster', 'Name of the Cluster.'),
    inPath('namespace', 'Namespace of the service account on that cluster.'),
    inPath('name', 'Name of the service account.'),
    inQuery('dryRun', 'string', 'Only All: checks the request and issues no token; status.token is empty.'),
    inQuery('fieldManager', 'string', 'Name of the actor: fewer than 128 printable characters.'),
    inQuery(
      'fieldValidation',
      'string',
      'Treatment of unknown and duplicate fields: Ignore, Warn (default; a Warning header for each) or Strict (400).',
    ),
    prettyParameter(),
  ],
  requestBody: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/TokenRequest' } } } },
  responses: {
    '201': responseOf('The token, or the result of a dry run.', 'TokenRequest'),
    ...errors(['400', '401', '403', '404', '406', '409', '413', '415', '422', '429', '503', '504']),
  },
} as const;

/** Returns the operations of a list by path. Those of a namespaced kind have the names that kube-apiserver uses. */
function listOperations(listing: Listing): readonly (readonly [string, { readonly get: object }])[] {
  const { plural, kind } = listing;
  const all = listPath(listing, '');
  if (!kind.namespaced)
    return [
      [all, { get: listOperation(listing, { operationId: `list${kind.kind}`, parameters: [] }) }],
      [`${all}/{name}`, { get: readOperation(listing, { operationId: `read${kind.kind}`, parameters: [] }) }],
    ];
  const parameters = [inPath('namespace', `Namespace of the ${plural}.`)];
  const namespaced = listPath(listing, '{namespace}');
  return [
    [all, { get: listOperation(listing, { operationId: `list${kind.kind}ForAllNamespaces`, parameters: [] }) }],
    [namespaced, { get: listOperation(listing, { operationId: `listNamespaced${kind.kind}`, parameters }) }],
    [`${namespaced}/{name}`, { get: readOperation(listing, { operationId: `readNamespaced${kind.kind}`, parameters }) }],
  ];
}

/** Name of an operation, and the parameters of its path before the name of an object. */
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly object[];
}

function listOperation({ plural, kind: { kind, listKind, selectableFields } }: Listing, { operationId, parameters }: Operation) {
  const fields = ['metadata.name', ...Object.keys(selectableFields)].join(', ');
  return {
    operationId,
    summary: `Lists or watches the ${plural} that the caller may see.`,
    description: `Returns the ${plural} that RBAC on the hub allows the caller to get or list. Without permissions the list is empty. A watch starts at the resource version of a list; when permissions change, it sends ADDED and DELETED for gained and lost ${plural}.`,
    parameters: [
      ...parameters,
      inQuery('labelSelector', 'string', `Selects ${plural} by labels. ${SELECTOR_LIMITS}`),
      inQuery('fieldSelector', 'string', `Selects ${plural} by fields: ${fields}. ${SELECTOR_LIMITS}`),
      inQuery('limit', 'integer', `Maximum number of ${plural} in one page; all by default.`),
      inQuery('continue', 'string', 'Start of the next page: metadata.continue of the page before.'),
      inQuery('resourceVersion', 'string', 'Minimum resource version of a list; start of a watch.'),
      inQuery('resourceVersionMatch', 'string', 'NotOlderThan or Exact.'),
      inQuery('watch', 'boolean', 'Streams events, one JSON object per line, instead of a list.'),
      inQuery('allowWatchBookmarks', 'boolean', 'Sends BOOKMARK events with versions to resume from.'),
      inQuery('sendInitialEvents', 'boolean', `Starts a watch with an ADDED event for each existing ${kind}.`),
      inQuery('timeoutSeconds', 'integer', 'Ends a watch after this time, and a longer list with 504.'),
      prettyParameter(),
    ],
    responses: {
      '200': responseOf(`The ${plural}; with watch=true, a stream of WatchEvent.`, listKind),
      ...errors(['400', '401', '406', '410', '429', '503', '504']),
    },
  };
}

const SELECTOR_LIMITS = 'At most 1 KiB; both selectors together have at most 32 requirements and 64 values.';

function readOperation({ kind: { kind } }: Listing, { operationId, parameters }: Operation) {
  return {
    operationId,
    summary: `Reads one ${kind}.`,
    description: `Returns the same 404 for a hidden and for a missing ${kind}.`,
    parameters: [
      ...parameters,
      inPath('name', `Name of the ${kind}.`),
      inQuery('resourceVersion', 'string', 'Minimum resource version.'),
      prettyParameter(),
    ],
    responses: {
      '200': responseOf(`The ${kind}.`, kind),
      ...errors(['400', '401', '406', '429', '503', '504']),
      '404': responseOf(`The ${kind} was not found.`, 'Status'),
    },
  };
}

function inPath(name: string, description: string) {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } };
}

function inQuery(name: string, type: 'string' | 'integer' | 'boolean', description: string) {
  return { name, in: 'query', required: false, description, schema: { type } };
}

function prettyParameter() {
  return inQuery('pretty', 'boolean', 'Pretty-prints the response; true by default for browsers and command-line tools.');
}

function responseOf(description: string, schema: string) {
  return { description, content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } };
}

function errors(codes: readonly (keyof typeof ERRORS)[]) {
  return Object.fromEntries(codes.map((code) => [code, responseOf(ERRORS[code], 'Status')]));
}
