// Common parts of the endpoints: the API, the target, the writer, the decoded body, and the representation of the response.

import { isKnownKind } from '../../src/kubernetes/known-kinds.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Policy } from '../../src/kubernetes/rbac.ts';
import { createTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { checkView, encodeObject, type View } from '../../src/kubernetes/representation.ts';
import type { BodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { decodeObject } from '../../src/kubernetes/wire/decode.ts';
import type { ExpectedKind } from '../../src/kubernetes/wire/decode-request.ts';
import { negotiate, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { type FieldValidation, resolveFieldManager, type WriteOptions } from '../../src/kubernetes/wire/options.ts';
import type { Authenticators } from '../access/authenticate.ts';
import type { TokenIssuer } from '../access/service-account-tokens.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';
import type { Api, RequestTarget, Writer } from '../verbs/api.ts';

/** The API with authentication, authorization and token issuance. */
export interface AccessApi extends Api {
  readonly policy: Policy;
  readonly authenticators: Authenticators;
  readonly tokenIssuer: TokenIssuer;
}

/** A request for a served kind. */
export interface KindRequest extends ApiRequest {
  readonly info: ResourceRequest;
  readonly kind: Kind;
}

export function toTarget({ kind, info }: KindRequest): RequestTarget {
  return { kind, namespace: kind.namespaced ? info.namespace : '', name: info.name, subresource: info.subresource };
}

/** Negotiates the representation of the response. Throws 406 if the server has none that the caller accepts. */
export function negotiateRepresentation({ preferences, kind, info }: KindRequest): Representation {
  return negotiate(preferences, { builtIn: kind.builtIn, tables: true, watchable: info.verb === 'list' });
}

export function toWriter(request: KindRequest, { dryRun, fieldManager }: WriteOptions): Writer {
  const { userAgent, warn } = request;
  const manager = resolveFieldManager(fieldManager, userAgent);
  return { dryRun, warn, manager, authorizeCreate: () => request.authorize('create') };
}

/** Returns the form in which the response shows objects. Throws 400 for a Table with an invalid `includeObject`. */
export function createView(api: Api, request: KindRequest, as: Representation['as']): View {
  const view = { kind: request.kind, as, includeObject: request.query.get('includeObject') ?? '', now: api.now() };
  checkView(view);
  return view;
}

/** Creates a response with one object. */
export function createObjectReply(api: Api, request: KindRequest, representation: Representation, { status, object }: StoredResult): Reply {
  return createTextReply(status, encodeObject(object, createView(api, request, representation.as)), representation);
}

interface StoredResult {
  readonly status: number;
  readonly object: KubeObject;
}

interface Body {
  readonly body: Buffer;
  readonly mediaType: BodyMediaType;
  readonly kind: ExpectedKind;
  readonly fieldValidation: FieldValidation;
}

/** Decodes the body. Rejects unknown and repeated fields (400), warns about them, or ignores them, depending on `fieldValidation`. */
export function decodeBody(api: Api, { warn }: ApiRequest, { kind, ...body }: Body): KubeObject {
  const { object, warnings } = decodeObject({
    ...body,
    kind,
    isTypeOptional: kind.builtIn,
    isRegistered: (group, version, name) => api.registry.findKind(group, version, name) !== undefined || isKnownKind(group, version, name),
  });
  warnings.forEach(warn);
  return object;
}
