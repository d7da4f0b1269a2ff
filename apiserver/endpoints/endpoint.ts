// What every endpoint of a kind needs: the kind, the place, the representation of the answer.

import type { KubeObject } from '../../src/kubernetes/object.ts';
import { type Reply, textReply } from '../../src/kubernetes/reply.ts';
import { checkView, showObject, type View } from '../../src/kubernetes/representation.ts';
import { negotiate, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { fieldManagerName, type WriteOptions } from '../../src/kubernetes/wire/options.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiRequest } from '../request.ts';
import type { ResourceRequest } from '../request-info.ts';
import type { Api, Target, Writer } from '../verbs/api.ts';

/** A request for a kind that exists, by a method that it knows. */
export interface KindRequest extends ApiRequest {
  readonly info: ResourceRequest;
  readonly kind: Kind;
}

export function targetOf({ kind, info }: KindRequest): Target {
  return { kind, namespace: kind.namespaced ? info.namespace : '', name: info.name, subresource: info.subresource };
}

/** The representation of the answer; 406. */
export function representationOf({ preferences, kind, info }: KindRequest): Representation {
  return negotiate(preferences, { builtIn: kind.builtIn, tables: true, watchable: info.verb === 'list' });
}

export function writerOf(request: KindRequest, { dryRun, fieldManager }: WriteOptions): Writer {
  const { userAgent, warn } = request;
  const manager = fieldManagerName(fieldManager, userAgent);
  return { dryRun, warn, manager, checkMayCreate: () => request.authorize('create') };
}

/** How the answer shows objects; 400. */
export function viewOf(api: Api, request: KindRequest, as: Representation['as']): View {
  const view = { kind: request.kind, as, includeObject: request.query.get('includeObject') ?? '', now: api.now() };
  checkView(view);
  return view;
}

/** An answer that holds one object. */
export function objectReply(api: Api, request: KindRequest, representation: Representation, { status, object }: Answer): Reply {
  return textReply(status, showObject(object, viewOf(api, request, representation.as)), representation);
}

export interface Answer {
  readonly status: number;
  readonly object: KubeObject;
}
