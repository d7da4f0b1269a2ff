// The OpenAPI v3 document of the façade. docs/api.md is made from it.

import { textReply } from '../kubernetes/reply.ts';
import { negotiateDocument } from '../kubernetes/wire/negotiate.ts';
import { SCHEMAS } from './openapi-schemas.ts';
import type { PublicDocument } from './router.ts';

/** The document as everybody may read it, for a façade whose clusters are below `path`. */
export function openApiDocument(path: string): PublicDocument {
  const text = JSON.stringify(openApi(path));
  return { path: '/openapi/v3', reply: ({ preferences }) => textReply(200, text, negotiateDocument(preferences, { routed: false })) };
}

/** What the document says. */
export function openApi(path: string) {
  return {
    openapi: '3.0.0',
    info: { title: 'Purser', version: 'v1alpha1' },
    security: [{ bearer: [] }],
    paths: {
      [`/${path}/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`]: { post: CREATE_TOKEN },
      '/auth/v1/clusters': { get: LIST_CLUSTERS },
      '/auth/v1/clusters/{name}': { get: READ_CLUSTER },
    },
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } }, schemas: SCHEMAS },
  };
}

const ERRORS = {
  '400': 'The request cannot be read, or asks for something that does not exist.',
  '401': 'There is no bearer token, or the hub does not accept it.',
  '403': 'RBAC on the hub does not allow it; the message names the permission that is missing.',
  '404': 'There is no such cluster, service account or bound object.',
  '406': 'No form of the answer that the caller accepts can be made.',
  '409': 'The object is another one than the request names by its UID.',
  '410': 'The version, or the page, is no longer kept: list again.',
  '413': 'The body is too large.',
  '415': 'The body is neither JSON, nor YAML, nor protobuf.',
  '422': 'A field has a value that is not allowed.',
  '429': 'Too many requests; Retry-After says when to come again.',
  '503': 'The hub or the cluster gives no answer that can be used; Retry-After says when to come again.',
  '504': 'The cluster, or the version that was asked for, did not come in time.',
} as const;

const CREATE_TOKEN = {
  operationId: 'createToken',
  summary: 'Issues a token of a service account of a registered cluster.',
  description:
    'Body and answer are TokenRequest of authentication.k8s.io/v1, as JSON or YAML; the body may also be protobuf, as kubectl sends it. The caller needs the verb issue on clusters/token in registry.purser.dev, under the name <cluster>/<namespace>/<serviceaccount>, <cluster>/<namespace> or <cluster>.',
  parameters: [
    inPath('cluster', 'The name of the Cluster.'),
    inPath('namespace', 'The namespace of the service account on that cluster.'),
    inPath('name', 'The name of the service account.'),
    inQuery('dryRun', 'string', 'Only All: everything is checked and no token is issued; status.token is empty then.'),
    inQuery('fieldManager', 'string', 'Who asks: fewer than 128 printable characters.'),
    inQuery(
      'fieldValidation',
      'string',
      'What is made of unknown and duplicate fields: Ignore, Warn (default; a Warning header for each) or Strict (400).',
    ),
    prettiness(),
  ],
  requestBody: { required: true, content: { 'application/json': { schema: { $ref: '#/components/schemas/TokenRequest' } } } },
  responses: {
    '201': answerOf('The token, or the rehearsal of one.', 'TokenRequest'),
    ...errors(['400', '401', '403', '404', '406', '409', '413', '415', '422', '429', '503', '504']),
  },
} as const;

const LIST_CLUSTERS = {
  operationId: 'listClusters',
  summary: 'Lists or watches the clusters that the caller may see.',
  description:
    'A caller sees the clusters that RBAC on the hub lets it get or list. Without any rights the list is empty. A watch begins with the version of a list; when rights change, clusters come and go as ADDED and DELETED.',
  parameters: [
    inQuery('labelSelector', 'string', 'Only clusters with these labels.'),
    inQuery('fieldSelector', 'string', 'Only clusters with these fields: metadata.name.'),
    inQuery('limit', 'integer', 'The most clusters of one page; all by default.'),
    inQuery('continue', 'string', 'Where the next page begins: metadata.continue of the one before.'),
    inQuery('resourceVersion', 'string', 'A list is not older than this; a watch begins after it.'),
    inQuery('resourceVersionMatch', 'string', 'NotOlderThan or Exact.'),
    inQuery('watch', 'boolean', 'Streams events, one JSON object a line, instead of a list.'),
    inQuery('allowWatchBookmarks', 'boolean', 'Sends BOOKMARK events, by which a watch can be resumed.'),
    inQuery('sendInitialEvents', 'boolean', 'Begins a watch with what there is, as ADDED events.'),
    inQuery('timeoutSeconds', 'integer', 'Ends a watch after this time, and a list that takes longer with 504.'),
    prettiness(),
  ],
  responses: {
    '200': answerOf('The clusters; with watch=true, a stream of WatchEvent.', 'ClusterList'),
    ...errors(['400', '401', '406', '410', '429', '503', '504']),
  },
} as const;

const READ_CLUSTER = {
  operationId: 'readCluster',
  summary: 'Reads one cluster.',
  description: 'A cluster that the caller may not see is answered as one that does not exist.',
  parameters: [inPath('name', 'The name of the Cluster.'), inQuery('resourceVersion', 'string', 'Not older than this.'), prettiness()],
  responses: { '200': answerOf('The cluster.', 'Cluster'), ...errors(['400', '401', '404', '406', '429', '503', '504']) },
} as const;

function inPath(name: string, description: string) {
  return { name, in: 'path', required: true, description, schema: { type: 'string' } };
}

function inQuery(name: string, type: 'string' | 'integer' | 'boolean', description: string) {
  return { name, in: 'query', required: false, description, schema: { type } };
}

function prettiness() {
  return inQuery('pretty', 'boolean', 'Indents the answer; true for browsers and command-line tools, false otherwise.');
}

function answerOf(description: string, schema: keyof typeof SCHEMAS) {
  return { description, content: { 'application/json': { schema: { $ref: `#/components/schemas/${schema}` } } } };
}

function errors(codes: readonly (keyof typeof ERRORS)[]) {
  return Object.fromEntries(codes.map((code) => [code, answerOf(ERRORS[code], 'Status')]));
}
