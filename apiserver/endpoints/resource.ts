// Routing of resource requests to endpoints. Unlike in kube-apiserver, custom resources get the 404 and 405 responses of built-in kinds.

import { plainTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { reviewKinds } from '../../src/kubernetes/reviews.ts';
import { badRequest, methodNotAllowed, pathNotFound } from '../../src/kubernetes/status.ts';
import type { Kind } from '../kinds/kind.ts';
import type { ApiRequest, ResourceRequest } from '../request.ts';
import type { AccessApi, KindRequest } from './endpoint.ts';
import { getEndpoint, listEndpoint, watchEndpoint } from './read.ts';
import { reviewEndpoint, tokenEndpoint } from './review.ts';
import { createEndpoint, deleteCollectionEndpoint, deleteEndpoint, patchEndpoint, updateEndpoint } from './write.ts';

type Endpoint = (api: AccessApi, request: KindRequest) => Promise<Reply>;
type Endpoints = Readonly<Record<string, Endpoint>>;

// Endpoints by verb, for each type of path: all namespaces, one collection, one object, and the subresources of an object.
const ACROSS_NAMESPACES: Endpoints = { list: listEndpoint, watch: watchEndpoint };
const COLLECTION: Endpoints = { ...ACROSS_NAMESPACES, create: createEndpoint, deletecollection: deleteCollectionEndpoint };
const OBJECT: Endpoints = { get: getEndpoint, update: updateEndpoint, patch: patchEndpoint, delete: deleteEndpoint };
const SUBRESOURCES: Readonly<Record<string, Endpoints>> = {
  status: { get: getEndpoint, update: updateEndpoint, patch: patchEndpoint },
  token: { create: tokenEndpoint },
};

type ResourceApiRequest = ApiRequest & { readonly info: ResourceRequest };

export async function resourceEndpoint(api: AccessApi, request: ResourceApiRequest): Promise<Reply> {
  const { group, version, resource } = request.info;
  if (!request.path.startsWith(group === '' ? '/api/' : `/apis/${group}/`)) return pageNotFound();
  const kind = api.registry.find(group, version, resource);
  if (kind !== undefined) return kindEndpoint(api, { ...request, kind });
  const review = reviewKinds.find((each) => each.group === group && each.version === version && each.plural === resource);
  if (review !== undefined) return reviewEndpoint(api, request, review);
  const isBuiltInGroup = api.registry.all().some((each) => each.builtIn && each.group === group);
  if (isBuiltInGroup || reviewKinds.some((each) => each.group === group)) throw pathNotFound();
  return pageNotFound();
}

async function kindEndpoint(api: AccessApi, request: KindRequest): Promise<Reply> {
  const { kind, info, method } = request;
  const endpoints = routesOf(kind, info);
  if (endpoints === undefined) throw pathNotFound();
  if (info.parts.length > 1 && info.name === '') throw badRequest('name must be provided');
  const isServed = info.subresource !== '' || kind.verbs.some((verb) => verb === info.verb);
  const endpoint = isServed && method !== 'HEAD' ? endpoints[info.verb] : undefined;
  if (endpoint === undefined) throw methodNotAllowed();
  return endpoint(api, request);
}

function routesOf(kind: Kind, { isInNamespace, parts, subresource }: ResourceRequest): Endpoints | undefined {
  const [, ...below] = parts;
  if (kind.namespaced && !isInNamespace) return below.length === 0 ? ACROSS_NAMESPACES : undefined;
  if (!kind.namespaced && isInNamespace) return undefined;
  if (below.length === 0) return COLLECTION;
  if (below.length === 1) return OBJECT;
  const isKnown = below.length === 2 && kind.subresources.some(({ name }) => name === subresource);
  return isKnown ? SUBRESOURCES[subresource] : undefined;
}

function pageNotFound(): Reply {
  return plainTextReply(404, '404 page not found\n');
}
