// Routing of resource requests to endpoints. Unlike in kube-apiserver, custom resources get the 404 and 405 responses of built-in kinds.

import { createPlainTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { reviewKinds } from '../../src/kubernetes/reviews.ts';
import { badRequest, methodNotAllowed, pathNotFound } from '../../src/kubernetes/status.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';
import type { AccessApi, KindRequest } from './endpoint.ts';
import { handleGet, handleList, handleWatch } from './read.ts';
import { handleReview, handleTokenRequest } from './review.ts';
import { handleCreate, handleDelete, handleDeleteCollection, handlePatch, handleUpdate } from './write.ts';

type Endpoint = (api: AccessApi, request: KindRequest) => Promise<Reply>;
type Endpoints = Readonly<Record<string, Endpoint>>;

// Endpoints by verb, for each type of path: all namespaces, one collection, one object, and the subresources of an object.
const ACROSS_NAMESPACES: Endpoints = { list: handleList, watch: handleWatch };
const COLLECTION: Endpoints = { ...ACROSS_NAMESPACES, create: handleCreate, deletecollection: handleDeleteCollection };
const OBJECT: Endpoints = { get: handleGet, update: handleUpdate, patch: handlePatch, delete: handleDelete };
const SUBRESOURCES: Readonly<Record<string, Endpoints>> = {
  status: { get: handleGet, update: handleUpdate, patch: handlePatch },
  token: { create: handleTokenRequest },
};

type ResourceApiRequest = ApiRequest & { readonly info: ResourceRequest };

export async function handleResource(api: AccessApi, request: ResourceApiRequest): Promise<Reply> {
  const { group, version, resource } = request.info;
  if (!request.path.startsWith(group === '' ? '/api/' : `/apis/${group}/`)) return pageNotFound();
  const kind = api.registry.find(group, version, resource);
  if (kind !== undefined) return handleKind(api, { ...request, kind });
  const review = reviewKinds.find((each) => each.group === group && each.version === version && each.plural === resource);
  if (review !== undefined) return handleReview(api, request, review);
  const isBuiltInGroup = api.registry.all().some((each) => each.builtIn && each.group === group);
  if (isBuiltInGroup || reviewKinds.some((each) => each.group === group)) throw pathNotFound();
  return pageNotFound();
}

async function handleKind(api: AccessApi, request: KindRequest): Promise<Reply> {
  const { kind, info, method } = request;
  const endpoints = findRoutes(kind, info);
  if (endpoints === undefined) throw pathNotFound();
  if (info.parts.length > 1 && info.name === '') throw badRequest('name must be provided');
  const isServed = info.subresource !== '' || kind.verbs.some((verb) => verb === info.verb);
  const endpoint = isServed && method !== 'HEAD' ? endpoints[info.verb] : undefined;
  if (endpoint === undefined) throw methodNotAllowed();
  return endpoint(api, request);
}

function findRoutes(kind: Kind, { isInNamespace, parts, subresource }: ResourceRequest): Endpoints | undefined {
  const [, ...below] = parts;
  if (kind.namespaced && !isInNamespace) return below.length === 0 ? ACROSS_NAMESPACES : undefined;
  if (!kind.namespaced && isInNamespace) return undefined;
  if (below.length === 0) return COLLECTION;
  if (below.length === 1) return OBJECT;
  const isKnown = below.length === 2 && kind.subresources.some(({ name }) => name === subresource);
  return isKnown ? SUBRESOURCES[subresource] : undefined;
}

function pageNotFound(): Reply {
  return createPlainTextReply(404, '404 page not found\n');
}
