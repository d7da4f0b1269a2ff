// The OpenAPI v3 document of the façade.

import { textReply } from '../apimachinery/reply.ts';
import { negotiateDocument } from '../apimachinery/wire/negotiate.ts';
import { contentOf, SCHEMAS } from './openapi-schemas.ts';
import type { PublicDocument } from './server.ts';

/** The document, for a façade whose clusters are below `path`. */
export function openApiDocument(path: string): PublicDocument {
  const text = JSON.stringify({
    openapi: '3.0.0',
    info: {
      title: 'Purser',
      version: 'v1alpha1',
      description: 'Issues tokens of service accounts of many clusters, and lists the clusters.',
    },
    paths: {
      [`/${path}/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`]: TOKENS,
      '/auth/v1/clusters': CLUSTERS,
      '/auth/v1/clusters/{name}': ONE_CLUSTER,
    },
    components: { schemas: SCHEMAS, securitySchemes: { BearerToken: { type: 'http', scheme: 'bearer' } } },
    security: [{ BearerToken: [] }],
  });
  return { path: '/openapi/v3', reply: ({ preferences }) => textReply(200, text, negotiateDocument(preferences, { routed: false })) };
}

type SchemaType = 'string' | 'integer' | 'boolean';

const inPath = (name: string, description: string) => ({ name, in: 'path', required: true, description, schema: { type: 'string' } });
const inQuery = (name: string, description: string, type: SchemaType = 'string') => ({ name, in: 'query', description, schema: { type } });
const answer = (description: string, schema: keyof typeof SCHEMAS) => ({ description, content: contentOf(schema) });

const PRETTY = inQuery('pretty', "'true' indents the answer. By default it is not, unless a browser or a command-line tool asks.");

const REFUSALS = {
  401: answer('The request has no valid bearer token.', 'Status'),
  429: answer('Too many requests; Retry-After tells when to come again.', 'Status'),
  default: answer('Any other refusal.', 'Status'),
};

const TOKENS = {
  parameters: [
    inPath('cluster', 'Name of the Cluster.'),
    inPath('namespace', 'Namespace of the service account, on that cluster.'),
    inPath('name', 'Name of the service account.'),
  ],
  post: {
    operationId: 'createServiceAccountToken',
    description: 'Issues a token of a service account.',
    parameters: [
      inQuery('dryRun', "Only 'All': everything is checked, and nothing is issued."),
      inQuery('fieldManager', 'Who asks: fewer than 128 printable characters.'),
      inQuery('fieldValidation', "What becomes of unknown and repeated fields: 'Ignore', 'Warn' (default) or 'Strict'."),
      PRETTY,
    ],
    requestBody: {
      required: true,
      content: contentOf('TokenRequest', ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']),
    },
    responses: {
      201: answer('The request with its token.', 'TokenRequest'),
      403: answer('The caller may not have this token.', 'Status'),
      422: answer('The request asks for something that cannot be had.', 'Status'),
      503: answer('The cluster, or the hub, is not to be had; Retry-After tells when to try again.', 'Status'),
      504: answer('The cluster did not answer in time.', 'Status'),
      ...REFUSALS,
    },
    'x-kubernetes-action': 'post',
    'x-kubernetes-group-version-kind': { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
  },
};

const CLUSTERS = {
  get: {
    operationId: 'listClusters',
    description: 'Lists or watches the clusters that the caller may see.',
    parameters: [
      inQuery('labelSelector', 'Restricts the clusters by their labels.'),
      inQuery('fieldSelector', 'Restricts the clusters by their fields, such as metadata.name.'),
      inQuery('limit', 'How many clusters a page has at most.', 'integer'),
      inQuery('continue', 'The next page, as the last one named it.'),
      inQuery('resourceVersion', 'A version that the answer must not be older than, or that a watch starts from.'),
      inQuery('resourceVersionMatch', 'How resourceVersion counts.'),
      inQuery('timeoutSeconds', 'How long the call may last.', 'integer'),
      inQuery('watch', 'Streams changes instead.', 'boolean'),
      inQuery('allowWatchBookmarks', 'Asks for events of type BOOKMARK in a watch.', 'boolean'),
      inQuery('sendInitialEvents', 'Starts a watch with all that is there.', 'boolean'),
      PRETTY,
    ],
    responses: { 200: answer('The clusters.', 'ClusterList'), ...REFUSALS },
  },
};

const ONE_CLUSTER = {
  parameters: [inPath('name', 'Name of the Cluster.')],
  get: {
    operationId: 'getCluster',
    description: 'One of the clusters that the caller may see.',
    parameters: [PRETTY],
    responses: { 200: answer('The cluster.', 'Cluster'), 404: answer('There is none of that name to be seen.', 'Status'), ...REFUSALS },
  },
};
