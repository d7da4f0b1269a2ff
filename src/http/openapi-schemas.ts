// The objects of the façade as OpenAPI v3 schemas.

const text = { type: 'string' } as const;
const texts = { type: 'array', items: text } as const;
const time = { type: 'string', format: 'date-time' } as const;
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const METADATA = object({ name: text, namespace: text, uid: text, resourceVersion: text, creationTimestamp: time, labels: object({}) });

const TOKEN_REQUEST = object(
  {
    apiVersion: { type: 'string', enum: ['authentication.k8s.io/v1'] },
    kind: { type: 'string', enum: ['TokenRequest'] },
    metadata: METADATA,
    spec: object(
      {
        audiences: {
          ...texts,
          minItems: 1,
          description:
            'Whom the token is for. A recipient accepts a token only if its own identifier is among the audiences; a token for several is valid at each of them, so they must trust one another.',
        },
        expirationSeconds: {
          type: 'integer',
          format: 'int64',
          nullable: true,
          description: 'The validity that is asked for. The issuer may grant another: see status.expirationTimestamp.',
        },
        boundObjectRef: {
          ...object({ apiVersion: text, kind: { type: 'string', enum: ['Pod', 'Secret'] }, name: text, uid: text }),
          nullable: true,
          description: 'The object that the token dies with.',
        },
      },
      { required: ['audiences'] },
    ),
    status: object({ token: { ...text, description: 'The bearer token.' }, expirationTimestamp: { ...time, nullable: true } }),
  },
  { required: ['spec'], 'x-kubernetes-group-version-kind': [{ group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' }] },
);

const STATUS = object({
  apiVersion: { type: 'string', enum: ['v1'] },
  kind: { type: 'string', enum: ['Status'] },
  metadata: object({}),
  status: { type: 'string', enum: ['Failure'] },
  message: text,
  reason: text,
  details: object({
    name: text,
    group: text,
    kind: text,
    uid: text,
    causes: { type: 'array', items: object({ reason: text, message: text, field: text }) },
    retryAfterSeconds: { type: 'integer' },
  }),
  code: { type: 'integer' },
});

const CONDITION = object({
  type: text,
  status: { type: 'string', enum: ['True', 'False', 'Unknown'] },
  reason: text,
  message: text,
  lastHeartbeatTime: time,
  lastTransitionTime: time,
});

const CLUSTER = object({
  apiVersion: { type: 'string', enum: ['registry.purser.dev/v1alpha1'] },
  kind: { type: 'string', enum: ['Cluster'] },
  metadata: METADATA,
  spec: object({
    orchestratorApiEndpoints: object({
      caBundle: { ...text, description: 'PEM in base64; without it, the roots of the system count.' },
      serverEndpoints: { type: 'array', items: object({ clientCIDR: text, serverAddress: text }) },
    }),
  }),
  status: object({ type: text, version: text, conditions: { type: 'array', items: CONDITION } }),
});

const CLUSTER_LIST = object({
  apiVersion: { type: 'string', enum: ['registry.purser.dev/v1alpha1'] },
  kind: { type: 'string', enum: ['ClusterList'] },
  metadata: object({ continue: text, remainingItemCount: { type: 'integer' }, resourceVersion: text, selfLink: text }),
  items: { type: 'array', items: ref('Cluster') },
});

/** All of them, by name. */
export const SCHEMAS = { TokenRequest: TOKEN_REQUEST, Status: STATUS, Cluster: CLUSTER, ClusterList: CLUSTER_LIST };

/** An answer, or a body, of one of them. */
export function contentOf(schema: keyof typeof SCHEMAS, types: readonly string[] = ['application/json', 'application/yaml']): object {
  return Object.fromEntries(types.map((type) => [type, { schema: ref(schema) }]));
}
