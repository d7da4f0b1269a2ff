// Everything that clients ask about the server itself: which kinds there are, its version, its health, its schemas.
// What go-restful routes in Kubernetes knows GET alone; the rest answers every method alike.

import { createHash } from 'node:crypto';
import { noMethod, noRoute } from '../../src/kubernetes/refusals.ts';
import type { Reply } from '../../src/kubernetes/reply.ts';
import { formatBody } from '../../src/kubernetes/wire/encode.ts';
import { checkRoutable, negotiateDocument, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { compareUtf8, goStructJson } from '../../src/std/go-text.ts';
import type { Kind } from '../kinds/kind.ts';
import { aggregatedRepresentation, groupDiscoveryList } from './aggregated.ts';
import { type Group, groupsOf } from './groups.ts';
import { HEALTH_PATHS, healthReply } from './health.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy.ts';
import { openApiReply } from './openapi.ts';
import type { DiscoveryRequest, DiscoveryState } from './request.ts';
import { VERSION } from './version.ts';

/** The answer, or undefined if the path is nothing of discovery. Throws a StatusError (404, 405, 406). */
export function discoveryRoute(request: DiscoveryRequest, state: DiscoveryState): Reply | undefined {
  const { path } = request;
  if (path === '/' || path === '/index.html') return indexReply(state);
  return healthReply(path, request.query) ?? openApiReply(request, state) ?? versionReply(request) ?? groupsReply(request, state);
}

const OTHER_PATHS = ['/.well-known/openid-configuration', '/apis', '/apis/', '/openapi/v3', '/openapi/v3/', '/openid/v1/jwks', '/version'];

/** `/`: where there is something to be found. */
function indexReply({ kinds }: DiscoveryState): Reply {
  const groups = groupsNow(kinds).flatMap(({ name, versions }) => {
    const root = name === '' ? '/api' : `/apis/${name}`;
    return [root, ...versions.map(({ version }) => `${root}/${version}`)];
  });
  const paths = [...OTHER_PATHS, ...groups, ...HEALTH_PATHS].sort(compareUtf8);
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify({ paths }, undefined, 2) };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function versionReply({ path, method, accept }: DiscoveryRequest): Reply | undefined {
  const [, root, ...below] = trimmed(path).split('/');
  if (root !== 'version') return undefined;
  if (below.length > 0) throw noRoute();
  if (method !== 'GET') throw noMethod();
  checkRoutable(accept, ['application/json']);
  return { status: 200, headers: JSON_TYPE, body: JSON.stringify(VERSION, undefined, 2) };
}

const remembered = new WeakMap<readonly Kind[], readonly Group[]>();

/** The groups of a state of the registry, computed once. */
function groupsNow(kinds: readonly Kind[]): readonly Group[] {
  const groups = remembered.get(kinds) ?? groupsOf(kinds);
  remembered.set(kinds, groups);
  return groups;
}

function groupsReply(request: DiscoveryRequest, state: DiscoveryState): Reply | undefined {
  const [, root, ...parts] = trimmed(request.path).split('/');
  const isCore = root === 'api';
  if ((!isCore && root !== 'apis') || parts[0] === '') return undefined;
  if (parts.length === 0) return isCore || request.path.length <= '/apis/'.length ? rootReply(request, state, isCore) : undefined;
  const [group = '', version, ...more] = isCore ? ['', ...parts] : parts;
  return more.length > 0 ? undefined : groupReply(request, groupsNow(state.kinds), group, version);
}

function trimmed(path: string): string {
  return path.replace(/\/+$/, '');
}

function rootReply(request: DiscoveryRequest, { kinds, serverAddress }: DiscoveryState, isCore: boolean): Reply {
  const groups = groupsNow(kinds).filter(({ name }) => (name === '') === isCore);
  if (isCore && request.method !== 'GET') throw noMethod();
  const aggregated = aggregatedRepresentation(preferencesOf(request));
  if (aggregated !== undefined) return aggregatedReply(request, groupDiscoveryList(groups), aggregated);
  return documentReply(request, isCore ? apiVersions(serverAddress) : apiGroupList(groups), { routed: isCore });
}

function groupReply(request: DiscoveryRequest, groups: readonly Group[], name: string, version?: string): Reply | undefined {
  const group = groups.find((each) => each.name === name);
  if (group === undefined) return undefined;
  if (version === undefined) return documentReply(request, apiGroup(group), { routed: false });
  const routed = isBuiltIn(group);
  const groupVersion = group.versions.find((each) => each.version === version);
  if (groupVersion !== undefined) return documentReply(request, apiResourceList(groupVersion), { routed });
  if (routed) throw noRoute();
  return undefined;
}

function isBuiltIn({ versions }: Group): boolean {
  return versions.every(({ resources }) => resources.every(({ builtIn }) => builtIn));
}

function documentReply(request: DiscoveryRequest, document: object, { routed }: { readonly routed: boolean }): Reply {
  if (routed && request.method !== 'GET') throw noMethod();
  const representation = negotiateDocument(preferencesOf(request), { routed });
  return { status: 200, headers: { 'content-type': representation.contentType }, body: formatBody(goStructJson(document), representation) };
}

function aggregatedReply(request: DiscoveryRequest, document: object, representation: Representation): Reply {
  const text = goStructJson(document);
  const etag = `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`;
  const headers = { 'cache-control': 'public', etag, vary: 'Accept' };
  if (request.ifNoneMatch === etag) return { status: 304, headers, body: '' };
  return {
    status: 200,
    headers: { ...headers, 'content-type': representation.contentType },
    body: formatBody(text, representation),
  };
}

function preferencesOf({ accept, userAgent, query }: DiscoveryRequest) {
  return { accept, userAgent, pretty: query.get('pretty') ?? undefined };
}
