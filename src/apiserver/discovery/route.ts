// Everything that clients ask about the server itself: which kinds there are, its version, its health, its schemas.

import { createHash } from 'node:crypto';
import { statusError } from '../../api/status.ts';
import { goStructJson } from '../../std/go-text.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Reply } from '../reply.ts';
import { formatBody } from '../wire/encode.ts';
import { negotiate } from '../wire/negotiate.ts';
import { AGGREGATED_CONTENT_TYPE, groupDiscoveryList, wantsAggregated } from './aggregated.ts';
import { type Group, groupsOf } from './groups.ts';
import { healthReply } from './health.ts';
import { apiGroup, apiGroupList, apiResourceList, apiVersions } from './legacy.ts';
import { openApiReply } from './openapi.ts';
import type { DiscoveryRequest, DiscoveryState } from './request.ts';
import { VERSION } from './version.ts';

/** The answer to a GET, or undefined if the path is nothing of discovery. Throws a StatusError (404, 406). */
export function discoveryRoute(request: DiscoveryRequest, state: DiscoveryState): Reply | undefined {
  const path = request.path.length > 1 && request.path.endsWith('/') ? request.path.slice(0, -1) : request.path;
  if (path === '/version') return versionReply();
  return healthReply(path, request.query, state.healthChecks) ?? openApiReply(request, state) ?? groupsReply({ ...request, path }, state);
}

const NOT_CACHED = { 'content-type': 'application/json' };

function versionReply(): Reply {
  return { status: 200, headers: NOT_CACHED, body: JSON.stringify(VERSION, undefined, 2) };
}

const remembered = new WeakMap<readonly Kind[], readonly Group[]>();

/** The groups of a state of the registry, computed once. */
function groupsNow(kinds: readonly Kind[]): readonly Group[] {
  const groups = remembered.get(kinds) ?? groupsOf(kinds);
  remembered.set(kinds, groups);
  return groups;
}

function groupsReply(request: DiscoveryRequest, state: DiscoveryState): Reply | undefined {
  const [, root, ...parts] = request.path.split('/');
  const isCore = root === 'api';
  if ((!isCore && root !== 'apis') || parts[0] === '') return undefined;
  if (parts.length === 0) return rootReply(request, state, isCore);
  const [group = '', version, ...more] = isCore ? ['', ...parts] : parts;
  return more.length > 0 ? undefined : groupReply(request, groupsNow(state.kinds), group, version);
}

function rootReply(request: DiscoveryRequest, { kinds, serverAddress }: DiscoveryState, isCore: boolean): Reply {
  const groups = groupsNow(kinds).filter(({ name }) => (name === '') === isCore);
  if (wantsAggregated(request.accept)) return aggregatedReply(request, groupDiscoveryList(groups));
  return documentReply(request, isCore ? apiVersions(serverAddress) : apiGroupList(groups));
}

function groupReply(request: DiscoveryRequest, groups: readonly Group[], name: string, version?: string): Reply | undefined {
  const group = groups.find((each) => each.name === name);
  if (group === undefined) return undefined;
  if (version === undefined) return documentReply(request, apiGroup(group));
  const groupVersion = group.versions.find((each) => each.version === version);
  if (groupVersion !== undefined) return documentReply(request, apiResourceList(groupVersion));
  if (isBuiltIn(group)) throw statusError('NotFound', 'the server could not find the requested resource', {});
  return undefined;
}

function isBuiltIn({ versions }: Group): boolean {
  return versions.every(({ resources }) => resources.every(({ builtIn }) => builtIn));
}

function documentReply(request: DiscoveryRequest, document: object): Reply {
  const representation = negotiate(preferencesOf(request), { builtIn: true, tables: false });
  return { status: 200, headers: { 'content-type': representation.contentType }, body: formatBody(goStructJson(document), representation) };
}

function aggregatedReply(request: DiscoveryRequest, document: object): Reply {
  const text = goStructJson(document);
  const etag = `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`;
  const headers = { 'cache-control': 'public', etag, vary: 'Accept' };
  if (request.ifNoneMatch === etag) return { status: 304, headers, body: '' };
  const { pretty } = negotiate({ ...preferencesOf(request), accept: 'application/json' }, { builtIn: true, tables: false });
  return {
    status: 200,
    headers: { ...headers, 'content-type': AGGREGATED_CONTENT_TYPE },
    body: formatBody(text, { mediaType: 'json', pretty }),
  };
}

function preferencesOf({ accept, userAgent, query }: DiscoveryRequest) {
  return { accept, userAgent, pretty: query.get('pretty') ?? undefined };
}
