// The OpenAPI v3 document of the façade. docs/api.md is generated from it.

import { NamePattern } from '../kubernetes/names.ts';
import { createTextReply, type Reply } from '../kubernetes/reply.ts';
import { createFieldSelectorPattern } from '../kubernetes/selectors/field-selector.ts';
import { LABEL_SELECTOR_PATTERN } from '../kubernetes/selectors/label-selector.ts';
import { negotiateDocument } from '../kubernetes/wire/negotiate.ts';
import { MAX_SELECTOR_BYTES } from './limits/selector-size.ts';
import { type Listing, toListPath } from './listwatch/filtered-list.ts';
import { createErrorResponses, createSuccessHeaders, type OpenApiResponse } from './openapi-responses.ts';
import {
  CONTINUE_TOKEN,
  createRef,
  type OpenApiSchema,
  type Properties,
  REQUESTED_VERSION,
  STATUS_SCHEMA,
  toListSchema,
  toWatchEventSchema,
} from './openapi-schemas.ts';
import type { PublicDocument } from './router.ts';
import { createTokenSchemas } from './tokens/token-schema.ts';

/** Settings that change the document. */
export interface DocumentOptions {
  /** True if requests without audiences are accepted; false if undefined. */
  readonly hasDefaultAudiences?: boolean;
}

/** Returns the public document of a façade with these lists. `path` is the first path segment of token requests. */
export function createOpenApiDocument(path: string, listings: readonly Listing[], options: DocumentOptions): PublicDocument {
  const text = JSON.stringify(buildOpenApi(path, listings, options));
  const replies = new Map<string, Reply>();
  return {
    path: '/openapi/v3',
    reply({ preferences }) {
      const representation = negotiateDocument(preferences, { isRouted: false });
      const key = `${representation.contentType} ${representation.pretty}`;
      const reply = replies.get(key) ?? toSharedReply(createTextReply(200, text, representation));
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
export function buildOpenApi(path: string, listings: readonly Listing[], { hasDefaultAudiences = false }: DocumentOptions = {}) {
  return {
    openapi: '3.0.0',
    info: { title: 'Purser', version: 'v1alpha1' },
    security: [{ bearer: [] }],
    paths: {
      [`/${path}/{cluster}/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token`]: { post: CREATE_TOKEN },
      ...Object.fromEntries(listings.flatMap(createListOperations)),
    },
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: {
        ...createTokenSchemas(hasDefaultAudiences),
        ...Object.fromEntries(listings.flatMap(createListedSchemas)),
        Status: STATUS_SCHEMA,
      },
    } as const satisfies { readonly schemas: Properties; readonly securitySchemes: object },
  };
}

function createListedSchemas(listing: Listing): readonly (readonly [string, OpenApiSchema])[] {
  const { kind, listKind } = listing.kind;
  return [
    [kind, listing.schema],
    [listKind, toListSchema(listing)],
    [toEventName(kind), toWatchEventSchema(listing)],
  ];
}

function toEventName(kind: string): string {
  return `${kind}WatchEvent`;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: object;
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

const VERSION =
  'Resource version to watch from. For a list, the minimum version; with resourceVersionMatch=Exact, or with limit and without resourceVersionMatch, the exact version.';
const PROTOBUF = {
  type: 'string',
  format: 'binary',
  description: 'TokenRequest as protobuf, in the envelope that Kubernetes clients send.',
};

const EXAMPLE = { spec: { audiences: ['https://kubernetes.default.svc'], expirationSeconds: 3600 } };

const CREATE_TOKEN: Operation = {
  operationId: 'createToken',
  summary: 'Issues a token for a service account on a registered cluster.',
  description:
    'The request body and the response are TokenRequest objects of authentication.k8s.io/v1, in JSON or YAML. The body may also be protobuf, as kubectl sends it. The caller needs the issue verb on clusters/token in the API group registry.purser.dev, for the resource name <cluster>/<namespace>/<serviceaccount>, <cluster>/<namespace> or <cluster>. For a Cluster with the label registry.purser.dev/set, a name with set:<set> in place of <cluster> is also sufficient. For a protected namespace, such as kube-system, the resource name must include the namespace; <cluster> or set:<set> alone is not sufficient.',
  parameters: [
    createPathParameter('cluster', 'Name of the Cluster.', 'prod-eu'),
    createPathParameter('namespace', 'Namespace of the service account on the cluster.', 'deploy'),
    createPathParameter('name', 'Name of the service account.', 'deployer'),
    createQueryParameter(
      'dryRun',
      { type: 'string', enum: ['All'] },
      'If All, the request is checked but no token is issued, and status.token is empty.',
    ),
    createQueryParameter(
      'fieldManager',
      { type: 'string', maxLength: 127, pattern: '^[^\\u0000-\\u001F\\u007F-\\u00A0]*$' },
      'Name of the actor that sends the request: at most 127 printable characters, and at most 128 bytes.',
    ),
    createQueryParameter(
      'fieldValidation',
      { type: 'string', enum: ['Ignore', 'Warn', 'Strict', ''] },
      'Handling of unknown and duplicate fields: Ignore, Warn (default; adds a Warning header for each field) or Strict (rejects the request with 400).',
    ),
    createPrettyParameter(),
  ],
  requestBody: {
    required: true,
    description: 'Maximum size: 8 KiB, or 1 KiB for YAML that is not JSON.',
    content: {
      'application/json': { schema: createRef('TokenRequest'), example: EXAMPLE },
      'application/yaml': { schema: createRef('TokenRequest'), example: EXAMPLE },
      'application/vnd.kubernetes.protobuf': { schema: PROTOBUF },
    },
  },
  responses: {
    '201': {
      description: 'The token, or the result of a dry run.',
      headers: createSuccessHeaders({ isToken: true }),
      content: toJsonAndYaml(createRef('TokenResponse')),
    },
    ...createErrorResponses('POST', ['403', '409', '413', '415', '422', '4XX'], {
      '404': 'The cluster, the service account or the bound object was not found, or a name in the path is invalid.',
      '503': 'Purser, the hub or the cluster cannot serve the request now; retry after the time in Retry-After.',
      '504': 'The cluster did not respond in time, or the request took longer than its timeout parameter allows.',
    }),
  },
};

/** Returns the operations of a list by path. Operation IDs follow the scheme of kube-apiserver, without group and version. */
function createListOperations(listing: Listing): readonly (readonly [string, { readonly get: Operation }])[] {
  const { kind } = listing;
  const all = toListPath(listing, '');
  if (!kind.namespaced)
    return [
      [all, { get: createListOperation(listing, { operationId: `list${kind.kind}`, parameters: [] }) }],
      [`${all}/{name}`, { get: createReadOperation(listing, { operationId: `read${kind.kind}`, parameters: [] }) }],
    ];
  const parameters = [createPathParameter('namespace', 'Namespace on the hub.', 'team-a')];
  const namespaced = toListPath(listing, '{namespace}');
  return [
    [all, { get: createListOperation(listing, { operationId: `list${kind.kind}ForAllNamespaces`, parameters: [] }, ' in all namespaces') }],
    [namespaced, { get: createListOperation(listing, { operationId: `listNamespaced${kind.kind}`, parameters }, ' in one namespace') }],
    [`${namespaced}/{name}`, { get: createReadOperation(listing, { operationId: `readNamespaced${kind.kind}`, parameters }) }],
  ];
}

/** Name of an operation, and the path parameters that precede the name of an object. */
type NamedOperation = Pick<Operation, 'operationId' | 'parameters'>;

const HUB_FAILED =
  'A request to the hub failed, Purser has not yet listed the objects on the hub, or Purser is stopping; retry after the time in Retry-After.';
const INVALID_NAMESPACE = 'The namespace in the path is not a valid name.';
const LIST_ERRORS = {
  '503': HUB_FAILED,
  '504': 'The requested resource version was not reached, or the list was not complete, in time.',
};

const INT64 = { type: 'integer', format: 'int64' };
const FLAG = { type: 'boolean' };

/** Returns the operation of a list; `scope` is the end of the summary. */
function createListOperation(listing: Listing, named: NamedOperation, scope = ''): Operation {
  const { kind, listKind } = listing.kind;
  const { operationId, parameters } = named;
  return {
    operationId,
    summary: `Lists or watches the ${kind}s that the caller may see${scope}.`,
    description: `Returns the ${kind}s that RBAC on the hub allows the caller to get or list; either verb is enough, unlike on the hub, where get does not permit a list. A caller without permissions receives an empty list. A watch can start at the resource version of a list. When the caller gains or loses permissions, the watch sends ADDED or DELETED events for the affected ${kind}s.`,
    parameters: [...parameters, ...createListParameters(listing)],
    responses: {
      '200': {
        description: `The ${kind}s; with watch=true, a stream of ${toEventName(kind)} objects, one per line.`,
        headers: createSuccessHeaders({ varies: true }),
        content: {
          'application/json': { schema: { oneOf: [createRef(listKind), createRef(toEventName(kind))] } },
          'application/yaml': { schema: createRef(listKind) },
        },
      },
      ...createErrorResponses('GET', ['410', '422'], parameters.length > 0 ? { ...LIST_ERRORS, '404': INVALID_NAMESPACE } : LIST_ERRORS),
    },
  };
}

/** Returns the query parameters of a list or watch. */
function createListParameters(listing: Listing) {
  const { kind } = listing.kind;
  return [
    ...createSelectorParameters(listing),
    createQueryParameter(
      'limit',
      INT64,
      `Maximum number of ${kind}s in one page; unlimited if absent, 0 or negative, and with resourceVersion=0.`,
    ),
    createQueryParameter(
      'continue',
      { type: 'string', pattern: CONTINUE_TOKEN },
      'Token for the next page: metadata.continue of the previous page. Cannot be combined with resourceVersionMatch, or with a resourceVersion other than 0.',
    ),
    createQueryParameter('resourceVersion', { type: 'string', pattern: REQUESTED_VERSION }, VERSION),
    createQueryParameter(
      'resourceVersionMatch',
      { type: 'string', enum: ['NotOlderThan', 'Exact', ''] },
      'NotOlderThan or Exact. In lists, requires resourceVersion. Watches accept only NotOlderThan, and only together with sendInitialEvents.',
    ),
    createQueryParameter('watch', FLAG, 'Streams events, one JSON object per line, instead of a list.'),
    createQueryParameter('allowWatchBookmarks', FLAG, 'Sends BOOKMARK events with resource versions to resume from.'),
    createQueryParameter(
      'sendInitialEvents',
      FLAG,
      `Starts a watch with an ADDED event for each existing ${kind}. Requires resourceVersionMatch=NotOlderThan; not allowed for lists.`,
    ),
    createQueryParameter(
      'timeoutSeconds',
      INT64,
      'Maximum duration in seconds. A watch ends after this time, and after an hour at the latest; a list that takes longer fails with 504.',
    ),
    createPrettyParameter(),
  ];
}

function createSelectorParameters({ kind, exampleName }: Listing): readonly Parameter[] {
  const names = kind.namespaced ? ['metadata.name', 'metadata.namespace'] : ['metadata.name'];
  const fields = [...names, ...Object.keys(kind.selectableFields)];
  const schema = { type: 'string', maxLength: MAX_SELECTOR_BYTES } as const;
  return [
    createQueryParameter(
      'labelSelector',
      { ...schema, pattern: LABEL_SELECTOR_PATTERN, example: 'env=prod' },
      `Selects ${kind.kind}s by labels. ${SELECTOR_LIMITS}`,
    ),
    createQueryParameter(
      'fieldSelector',
      { ...schema, pattern: createFieldSelectorPattern(fields), example: `metadata.name=${exampleName}` },
      `Selects ${kind.kind}s by fields: ${fields.join(', ')}. ${SELECTOR_LIMITS}`,
    ),
  ];
}

const SELECTOR_LIMITS = 'At most 1 KiB long. Both selectors together can contain at most 32 requirements and 64 values.';

function createReadOperation({ kind: { kind }, exampleName }: Listing, { operationId, parameters }: NamedOperation): Operation {
  return {
    operationId,
    summary: `Reads one ${kind}.`,
    description: `Returns the same 404 for a ${kind} that the caller may not see and for a ${kind} that does not exist.`,
    parameters: [
      ...parameters,
      createPathParameter('name', `Name of the ${kind}.`, exampleName),
      createQueryParameter('resourceVersion', { type: 'string', pattern: REQUESTED_VERSION }, 'Minimum resource version.'),
      createPrettyParameter(),
    ],
    responses: {
      '200': { description: `The ${kind}.`, headers: createSuccessHeaders({ varies: true }), content: toJsonAndYaml(createRef(kind)) },
      ...createErrorResponses('GET', [], {
        '404': `The ${kind} was not found, or a name in the path is invalid.`,
        '503': HUB_FAILED,
        '504': 'The requested resource version was not reached in time.',
      }),
    },
  };
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly required: boolean;
  readonly description: string;
  readonly schema: OpenApiSchema;
}

function createPathParameter(name: string, description: string, example: string): Parameter {
  const schema = name === 'namespace' ? { pattern: NamePattern.label, maxLength: 63 } : { pattern: NamePattern.subdomain, maxLength: 253 };
  return { name, in: 'path', required: true, description, schema: { type: 'string', ...schema, example } };
}

function createQueryParameter(name: string, schema: OpenApiSchema, description: string): Parameter {
  return { name, in: 'query', required: false, description, schema };
}

function createPrettyParameter(): Parameter {
  return createQueryParameter(
    'pretty',
    { type: 'string' },
    'Pretty-prints the response if true, True, TRUE, t, T or 1. If absent, responses to browsers, curl and Wget are pretty-printed.',
  );
}

function toJsonAndYaml(schema: OpenApiSchema): OpenApiResponse['content'] {
  return { 'application/json': { schema }, 'application/yaml': { schema } };
}
