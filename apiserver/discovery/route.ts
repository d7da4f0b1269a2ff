// Routes for discovery, version, health and OpenAPI. In kube-apiserver, go-restful serves some of these paths (`isRouted`), and
// allows only GET for them; the other paths allow any method.

import { createHash } from 'node:crypto';
import { arch, platform } from 'node:os';
import { createPlainTextReply, createTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { methodNotAllowed, pathNotFound } from '../../src/kubernetes/status.ts';
import { checkRoutable, negotiateDocument, type Representation } from '../../src/kubernetes/wire/negotiate.ts';
import { encodeGoStructJson } from '../../src/std/go-text.ts';
import type { Kind } from '../kinds/kind.ts';
import {
  createApiGroup,
  createApiGroupList,
  createApiResourceList,
  createApiVersions,
  createGroupDiscoveryList,
  type Group,
  negotiateAggregatedDiscovery,
  toGroups,
} from './groups.ts';
import { type DocumentRequest, serveOpenApi } from './openapi.ts';

export interface DiscoveryRequest extends DocumentRequest {
  readonly method: string;
  readonly userAgent: string | undefined;
}

export interface DiscoveryState {
  /** All served kinds; a new array regenerates the documents. */
  readonly kinds: readonly Kind[];
  /** Host and port at which clients reach the server. */
  readonly serverAddress: string;
}

/** Returns the response for a discovery, version, health or OpenAPI path; undefined for other paths. Throws 404, 405 or 406. */
export function serveDiscovery(request: DiscoveryRequest, state: DiscoveryState): Reply | undefined {
  const { path } = request;
  return serveHealth(path, request.query) ?? serveOpenApi(request, state.kinds) ?? serveVersion(request) ?? serveGroups(request, state);
}

function serveVersion({ path, method, accept }: DiscoveryRequest): Reply | undefined {
  const [, root, ...below] = withoutTrailingSlashes(path).split('/');
  if (root !== 'version') return undefined;
  if (below.length > 0) throw pathNotFound();
  if (method !== 'GET') throw methodNotAllowed();
  checkRoutable(accept, ['application/json']);
  return { status: 200, headers: { 'content-type': 'application/json' }, body: JSON.stringify(VERSION, undefined, 2) };
}

const groupCache = new WeakMap<readonly Kind[], readonly Group[]>();

/** Returns the groups of the kinds; computes them once for each array of kinds. */
function getGroups(kinds: readonly Kind[]): readonly Group[] {
  const groups = groupCache.get(kinds) ?? toGroups(kinds);
  groupCache.set(kinds, groups);
  return groups;
}

function serveGroups(request: DiscoveryRequest, state: DiscoveryState): Reply | undefined {
  const [, root, ...parts] = withoutTrailingSlashes(request.path).split('/');
  const isCore = root === 'api';
  if ((!isCore && root !== 'apis') || parts[0] === '') return undefined;
  if (parts.length === 0) return isCore || request.path.length <= '/apis/'.length ? serveRoot(request, state, isCore) : undefined;
  const [group = '', version, ...more] = isCore ? ['', ...parts] : parts;
  return more.length > 0 ? undefined : serveGroup(request, getGroups(state.kinds), group, version);
}

function withoutTrailingSlashes(path: string): string {
  return path.replace(/\/+$/, '');
}

function serveRoot(request: DiscoveryRequest, { kinds, serverAddress }: DiscoveryState, isCore: boolean): Reply {
  const groups = getGroups(kinds).filter(({ name }) => (name === '') === isCore);
  if (isCore && request.method !== 'GET') throw methodNotAllowed();
  const aggregated = negotiateAggregatedDiscovery(toPreferences(request));
  if (aggregated !== undefined) return serveAggregated(request, createGroupDiscoveryList(groups), aggregated);
  return serveDocument(request, isCore ? createApiVersions(serverAddress) : createApiGroupList(groups), { isRouted: isCore });
}

function serveGroup(request: DiscoveryRequest, groups: readonly Group[], name: string, version?: string): Reply | undefined {
  const group = groups.find((each) => each.name === name);
  if (group === undefined) return undefined;
  if (version === undefined) return serveDocument(request, createApiGroup(group), { isRouted: false });
  const isRouted = isBuiltIn(group);
  const groupVersion = group.versions.find((each) => each.version === version);
  if (groupVersion !== undefined) return serveDocument(request, createApiResourceList(groupVersion), { isRouted });
  if (isRouted) throw pathNotFound();
  return undefined;
}

function isBuiltIn({ versions }: Group): boolean {
  return versions.every(({ resources }) => resources.every(({ builtIn }) => builtIn));
}

function serveDocument(request: DiscoveryRequest, document: object, { isRouted }: { readonly isRouted: boolean }): Reply {
  if (isRouted && request.method !== 'GET') throw methodNotAllowed();
  const representation = negotiateDocument(toPreferences(request), { isRouted });
  return createTextReply(200, encodeGoStructJson(document), representation);
}

function serveAggregated(request: DiscoveryRequest, document: object, representation: Representation): Reply {
  const text = encodeGoStructJson(document);
  const etag = `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`;
  const headers = { 'cache-control': 'public', etag, vary: 'Accept' };
  if (request.ifNoneMatch === etag) return { status: 304, headers, body: '' };
  const reply = createTextReply(200, text, representation);
  return { ...reply, headers: { ...headers, ...reply.headers } };
}

function toPreferences({ accept, userAgent, query }: DiscoveryRequest) {
  return { accept, userAgent, pretty: query.get('pretty') ?? undefined };
}

const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' };

/** Version of the emulated Kubernetes release. */
const VERSION = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.4',
  gitCommit: '',
  gitTreeState: 'purser-embedded',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'node',
  platform: `${platform()}/${GO_ARCHITECTURES[arch()] ?? arch()}`,
} as const;

const HEALTH_PATHS: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz']);

/** Returns the response of a health endpoint; undefined for other paths. */
function serveHealth(path: string, query: URLSearchParams): Reply | undefined {
  if (!HEALTH_PATHS.has(path)) return undefined;
  return createPlainTextReply(200, query.has('verbose') ? `[+]ping ok\n${path.slice(1)} check passed\n` : 'ok');
}
