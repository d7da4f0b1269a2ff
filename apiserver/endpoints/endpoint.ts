// Common parts of the endpoints of a kind: target, representation, decoded body.

import { isKnownKind } from '../../src/kubernetes/known-kinds.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type Reply, textReply } from '../../src/kubernetes/reply.ts';
import { checkView, encodeObject, type View } from '../../src/kubernetes/representation.ts';
import type { BodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { decodeObject } from '../../src/kubernetes/wire/decode.ts';
import type { ExpectedKind } from '../../src/kubernetes/wire/decode-request.ts';
import { negotiate, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { type FieldValidation, fieldManagerName, type WriteOptions } from '../../src/kubernetes/wire/options.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';
import type { Api, Target, Writer } from '../verbs/api.ts';

/** A request for a kind that exists, by a method that it knows. */
export interface KindRequest extends ApiRequest {
  readonly info: ResourceRequest;
  readonly kind: Kind;
}

export function targetOf({ kind, info }: KindRequest): Target {
  return { kind, namespace: kind.namespaced ? info.namespace : '', name: info.name, subresource: info.subresource };
}

/** Returns the representation of the response. Throws 406. */
export function representationOf({ preferences, kind, info }: KindRequest): Representation {
  return negotiate(preferences, { builtIn: kind.builtIn, tables: true, watchable: info.verb === 'list' });
}

export function writerOf(request: KindRequest, { dryRun, fieldManager }: WriteOptions): Writer {
  const { userAgent, warn } = request;
  const manager = fieldManagerName(fieldManager, userAgent);
  return { dryRun, warn, manager, checkMayCreate: () => request.authorize('create') };
}

/** Returns the view of objects in the response. Throws 400. */
export function viewOf(api: Api, request: KindRequest, as: Representation['as']): View {
  const view = { kind: request.kind, as, includeObject: request.query.get('includeObject') ?? '', now: api.now() };
  checkView(view);
  return view;
}

/** Returns a response with one object. */
export function objectReply(api: Api, request: KindRequest, representation: Representation, { status, object }: Answer): Reply {
  return textReply(status, encodeObject(object, viewOf(api, request, representation.as)), representation);
}

export interface Answer {
  readonly status: number;
  readonly object: KubeObject;
}

export interface Body {
  readonly body: Buffer;
  readonly mediaType: BodyMediaType;
  readonly kind: ExpectedKind;
  readonly fieldValidation: FieldValidation;
}

/** Decodes the body; rejects, reports or ignores unknown and repeated fields. Throws 400. */
export function decodeBody(api: Api, { warn }: ApiRequest, { kind, ...body }: Body): KubeObject {
  const { object, warnings } = decodeObject({
    ...body,
    kind,
    defaultKind: kind.builtIn,
    isRegistered: (group, version, name) => api.registry.findKind(group, version, name) !== undefined || isKnownKind(group, version, name),
  });
  warnings.forEach(warn);
  return object;
}
