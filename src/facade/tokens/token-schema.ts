// OpenAPI schemas of a TokenRequest: the body that the façade accepts, and the response.

import { BEARER_TOKEN_PATTERN } from '../../kubernetes/bearer-token.ts';
import { TOKEN_REQUEST } from '../../kubernetes/reviews.ts';
import { OBJECT_META } from '../../kubernetes/schema/go-struct.ts';
import { MAX_EXPIRATION_SECONDS, MIN_EXPIRATION_SECONDS, TOKEN_REQUEST_KIND } from '../../kubernetes/token-request.ts';
import { SILENTLY_EXTENDED_SECONDS } from '../../targets/policy/grant.ts';
import {
  createRef,
  describeEnum,
  describeObject,
  describeProperties,
  type OpenApiSchema,
  type Properties,
  toRequestSchema,
  toResponseSchema,
} from '../openapi-schemas.ts';

/** Returns the schemas of the token endpoint by name. Audiences are required unless the installation has default audiences. */
export function createTokenSchemas(hasDefaultAudiences: boolean): Properties {
  return { TokenRequest: createRequestSchema(hasDefaultAudiences), ObjectMeta: OBJECT_META_SCHEMA, TokenResponse: RESPONSE_SCHEMA };
}

const API_VERSION = `${TOKEN_REQUEST_KIND.group}/${TOKEN_REQUEST_KIND.version}`;
const { kind: KIND } = TOKEN_REQUEST_KIND;
const AUDIENCES =
  'Audiences of the token: a recipient accepts a token only if its own identifier is among them. A token for several audiences is valid at each of them, so they must trust one another.';
const BOUND_OBJECT =
  'Pod or Secret that the token is bound to, in the namespace of the service account; the token becomes invalid when the object is deleted.';
const BOUND_FIELDS = {
  kind: 'Kind of the object.',
  apiVersion: 'API version of the object: v1.',
  name: 'Name of the object.',
  uid: 'UID of the object. If set, no token is issued for another object of the same name.',
};
/** Kinds that a token can be bound to. */
const BOUND_KINDS = ['Pod', 'Secret'];
/** Pattern of an API version without a group, as Kubernetes parses it. */
const CORE_API_VERSION = '^(/?[^/]*|[^/]*(/[^/]*){2,})$';
/** Pattern of an object name that can be a path segment. */
const PATH_SEGMENT = '^(?!\\.{1,2}$)[^/%]+$';

const REPEATED_FIELD = 'Repeated in the response; otherwise ignored.';

/** Descriptions of the metadata of a request. */
const METADATA = {
  name: 'Name of the service account; must match the path if set.',
  generateName: REPEATED_FIELD,
  namespace: 'Namespace of the service account; must match the path if set.',
  selfLink: REPEATED_FIELD,
  uid: 'UID of the service account. If set, no token is returned for another service account of the same name.',
  resourceVersion: REPEATED_FIELD,
  generation: REPEATED_FIELD,
  creationTimestamp: 'Ignored.',
  deletionTimestamp: REPEATED_FIELD,
  deletionGracePeriodSeconds: REPEATED_FIELD,
  labels: REPEATED_FIELD,
  annotations: REPEATED_FIELD,
  ownerReferences: `At most 1000 items. ${REPEATED_FIELD}`,
  finalizers: REPEATED_FIELD,
};

/** Descriptions of the metadata of a response. */
const RESPONSE_METADATA: typeof METADATA = {
  ...(Object.fromEntries(Object.keys(METADATA).map((name) => [name, 'As in the request.'])) as typeof METADATA),
  name: 'Name of the service account.',
  namespace: 'Namespace of the service account.',
  uid: 'UID of the service account; the value from the request if Purser cannot determine the UID, as in some dry runs.',
  creationTimestamp: 'Time of the response.',
};

function createRequestSchema(hasDefaultAudiences: boolean): OpenApiSchema {
  const { status } = propertiesOf(toRequestSchema(TOKEN_REQUEST));
  return {
    type: 'object',
    description: `Body of a token request: a TokenRequest of ${API_VERSION}. An optional field with the value null is treated as absent.`,
    ...(!hasDefaultAudiences && { required: ['spec'] }),
    properties: {
      apiVersion: { type: 'string', nullable: true, enum: [API_VERSION, '', null], description: `${API_VERSION}, the default.` },
      kind: { type: 'string', nullable: true, enum: [KIND, '', null], description: `${KIND}, the default.` },
      metadata: createRef('ObjectMeta'),
      spec: createSpecSchema(hasDefaultAudiences),
      status: { ...status, description: 'Ignored in requests.' },
    },
  };
}

function createSpecSchema(hasDefaultAudiences: boolean): OpenApiSchema {
  const form = propertiesOf(toRequestSchema(TOKEN_REQUEST));
  const { audiences, expirationSeconds, boundObjectRef } = propertiesOf(form['spec']);
  const fields = propertiesOf(boundObjectRef);
  return {
    type: 'object',
    description: `Requested token. Kubernetes can extend a lifetime of ${SILENTLY_EXTENDED_SECONDS} seconds to one year if the token is bound to a Pod, so the façade rejects this combination.`,
    ...(hasDefaultAudiences ? { nullable: true } : { required: ['audiences'] }),
    properties: {
      audiences: hasDefaultAudiences
        ? { ...audiences, description: `${AUDIENCES} If absent or empty, the default audiences of the installation apply.` }
        : { type: 'array', items: audiences?.items ?? {}, minItems: 1, description: AUDIENCES },
      expirationSeconds: {
        ...expirationSeconds,
        minimum: MIN_EXPIRATION_SECONDS,
        maximum: MAX_EXPIRATION_SECONDS,
        description:
          'Requested lifetime in seconds, 3600 by default. Purser shortens a lifetime above the --max-token-lifetime option (24h by default), and the cluster may grant a different lifetime.',
      },
      boundObjectRef: {
        ...boundObjectRef,
        description: BOUND_OBJECT,
        required: ['kind', 'name'],
        properties: {
          kind: describeEnum(BOUND_FIELDS.kind, BOUND_KINDS),
          apiVersion: { ...fields['apiVersion'], pattern: CORE_API_VERSION, description: BOUND_FIELDS.apiVersion },
          name: { type: 'string', pattern: PATH_SEGMENT, description: BOUND_FIELDS.name },
          uid: { ...fields['uid'], description: BOUND_FIELDS.uid },
        },
      },
    },
    not: {
      type: 'object',
      required: ['expirationSeconds', 'boundObjectRef'],
      properties: {
        expirationSeconds: { type: 'integer', enum: [SILENTLY_EXTENDED_SECONDS] },
        boundObjectRef: { type: 'object', required: ['kind'], properties: { kind: { type: 'string', enum: ['Pod'] } } },
      },
    },
  };
}

const OBJECT_META_SCHEMA: OpenApiSchema = {
  ...toRequestSchema(OBJECT_META),
  description: 'Metadata of a token request.',
  properties: describeProperties(propertiesOf(toRequestSchema(OBJECT_META)), {
    ...METADATA,
    managedFields: 'Ignored, and absent from the response.',
  }),
};

const RESPONSE_SCHEMA = ((): OpenApiSchema => {
  const { spec, status } = propertiesOf(toResponseSchema(TOKEN_REQUEST));
  const { expirationSeconds, boundObjectRef } = propertiesOf(spec);
  const metadata = describeProperties(propertiesOf(toResponseSchema(OBJECT_META)), RESPONSE_METADATA);
  const isServed = (name: string) => name === 'name' || name === 'namespace' || name === 'creationTimestamp';
  return describeObject(`Response to a token request, in ${API_VERSION}.`, {
    apiVersion: describeEnum('API version of the response.', [API_VERSION]),
    kind: describeEnum('Kind of the response.', [KIND]),
    metadata: describeObject(
      'Metadata of the service account and of the request.',
      metadata,
      Object.keys(metadata).filter((name) => !isServed(name)),
    ),
    spec: describeObject('Audiences, lifetime and bound object of the token.', {
      audiences: { type: 'array', items: { type: 'string' }, minItems: 1, description: AUDIENCES },
      expirationSeconds: {
        ...expirationSeconds,
        nullable: false,
        description: 'Granted lifetime in seconds; in a dry run, the lifetime that Purser would request from the cluster.',
      },
      boundObjectRef: {
        ...boundObjectRef,
        description: `${BOUND_OBJECT} Null if the token is not bound.`,
        required: ['kind', 'name'],
        properties: {
          ...describeProperties(propertiesOf(boundObjectRef), BOUND_FIELDS),
          kind: describeEnum(BOUND_FIELDS.kind, BOUND_KINDS),
        },
      },
    }),
    status: describeObject('Issued token.', {
      token: { type: 'string', pattern: `^$|${BEARER_TOKEN_PATTERN}`, description: 'The bearer token; empty in a dry run.' },
      expirationTimestamp: { ...propertiesOf(status)['expirationTimestamp'], description: 'Granted expiry; null in a dry run.' },
    }),
  });
})();

function propertiesOf(schema: OpenApiSchema | undefined): Properties {
  return schema?.properties ?? {};
}
