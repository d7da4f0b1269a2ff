// The two servers: a real kube-apiserver, and a façade that uses this kube-apiserver as its hub and as its only target. Both have the same
// objects and the same history.

import { Agent } from 'node:https';
import { Visibility } from '../../src/access/visibility.ts';
import { Clusters, ManagedTokens } from '../../src/api/resources.ts';
import { formatFacadeVersionAt } from '../../src/facade/listwatch/version.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { readManifests } from '../../src/kube/manifests.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { type Admin, createAdmin } from '../contract/admin.ts';
import { eventually } from '../contract/eventually.ts';
import type { ContractServer } from '../contract/server.ts';
import { type StartedFacade, startFacade } from '../contract/start-facade.ts';
import { allowAlice, CLUSTER, createTokenWorld } from '../contract/token-world.ts';
import { type ApiAddress, type ApiRequest, type ApiResponse, sendRequest } from '../support/api-request.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { aCredential, registered } from '../targets/registration.ts';
import { COMPARED_LISTS, type ComparedList, facadePath, listOf, OBJECTS } from './lists.ts';
import { type FuzzRequest, pathOn, type Side } from './request.ts';

/** Number of recent changes whose versions requests can name. */
const NAMED_CHANGES = 8;
const TOKENS = { admin: 'admintoken', alice: 'alicetoken', bob: 'bobtoken' };
const ADMIN_HEADERS = { authorization: `Bearer ${TOKENS.admin}` };

export class World {
  readonly #cluster: RealCluster;
  readonly #facade: StartedFacade;
  readonly #servers: Readonly<Record<Side, ApiAddress>>;
  readonly #admin: Admin;
  /** Version from before the history of both servers. */
  readonly #expired: string;
  /** Versions of the changes to each list in the history of both servers, as kube-apiserver returns them. */
  readonly #versions: ReadonlyMap<ComparedList, string[]> = new Map(COMPARED_LISTS.map((list) => [list, []]));
  #changes = 0;

  private constructor(parts: { cluster: RealCluster; facade: StartedFacade; kube: ApiAddress; admin: Admin; expired: string }) {
    this.#cluster = parts.cluster;
    this.#facade = parts.facade;
    this.#servers = { kube: parts.kube, facade: parts.facade };
    this.#admin = parts.admin;
    this.#expired = parts.expired;
  }

  static async start(): Promise<World> {
    // Compaction by time would remove versions that requests name.
    const cluster = await startRealCluster({ issuer: 'https://hub.test', flags: ['--etcd-compaction-interval=0'] });
    const kube = { url: cluster.url, agent: new Agent({ ca: cluster.ca, keepAlive: true }) };
    const server = contractServer(cluster, kube);
    const admin = createAdmin(server);
    await createTokenWorld(server);
    await allowAlice(server);
    const credential = aCredential({ token: TOKENS.admin, server: server.url, 'ca.crt': server.ca, cluster: CLUSTER });
    const target = registered({ name: CLUSTER, servers: [server.url], ca: server.ca, credential });
    let expired = '';
    const install = async (hub: KubeClient) => {
      expired = await createObjects(hub, admin);
      await cluster.compact();
      // kube-apiserver has its own watch cache, which only a restart clears.
      await cluster.restart('kill');
      for (const { path } of COMPARED_LISTS) await eventually(async () => void (await admin.list(path)));
    };
    const facade = await startFacade(server, {
      install,
      findRegistration: (name) => (name === CLUSTER ? target : undefined),
      settings: { protectedNamespaces: [] },
    });
    const world = new World({ cluster, facade, kube, admin, expired });
    // The façade follows ManagedTokens, and has a history of them, starting with the first request.
    for (const { path } of COMPARED_LISTS) await eventually(async () => void (await world.#readFacade(path)));
    for (let change = 0; change < NAMED_CHANGES; change += 1) await world.change();
    return world;
  }

  /** Sends a request to one server, and returns its response. */
  async send(side: Side, request: FuzzRequest, options: Pick<ApiRequest, 'cut' | 'onHead'> = {}): Promise<ApiResponse> {
    const target = await this.targetOn(side, request);
    return sendRequest(this.#servers[side], request.method, target, {
      headers: request.headers,
      ...(request.body !== undefined && { body: request.body }),
      ...options,
    });
  }

  /** Returns the path and the query of a request on one server, with values for its placeholders. */
  async targetOn(side: Side, request: FuzzRequest): Promise<string> {
    const token = request.firstPage === undefined ? '' : await this.#continueToken(side, request.firstPage);
    const query = request.query
      .replace(/\{version:(\w+)\}/g, (_, name: string) => versionOn(side, this.#version(request, name)))
      .replace(/\{continue(?::(\w+))?\}/g, (_, form: string | undefined) =>
        garble(token, form, (name) => versionOn(side, this.#version(request, name))),
      );
    return `${pathOn(side, request)}${query === '' ? '' : `?${query}`}`;
  }

  /** Changes one object of each list, and waits until both servers show the changes. */
  async change(): Promise<void> {
    this.#changes += 1;
    const isEven = this.#changes % 2 === 0;
    const labels = { env: isEven ? 'prod' : 'dev', number: isEven ? '70' : '7' };
    for (const list of COMPARED_LISTS) {
      const path = `${list.pathOf(7)}/c07`;
      const { metadata } = await this.#admin.patch(path, { metadata: { labels } });
      this.#versions.get(list)?.push(metadata.resourceVersion);
      const version = versionOn('facade', metadata.resourceVersion);
      await eventually(async () => {
        const body = await this.#readFacade(path);
        if (!body.includes(`"resourceVersion":"${version}"`)) throw new Error('the façade has not reached the change');
      });
    }
  }

  async stop(): Promise<void> {
    await this.#facade.stop();
    this.#servers.kube.agent.destroy();
    await this.#cluster.stop();
  }

  #version({ path }: FuzzRequest, name: string): string {
    if (name === 'old') return this.#expired;
    const versions = this.#versions.get(listOf(path)) ?? [];
    if (name === 'future') return String(Number(versions.at(-1)) + 1_000_000);
    const index = name === 'last' ? NAMED_CHANGES - 1 : Number(name);
    return versions.slice(-NAMED_CHANGES)[index] ?? '';
  }

  async #continueToken(side: Side, firstPage: string): Promise<string> {
    const target = side === 'kube' ? firstPage : facadePath(firstPage);
    const { body } = await sendRequest(this.#servers[side], 'GET', target, { headers: ADMIN_HEADERS });
    return (JSON.parse(body) as { metadata: { continue?: string } }).metadata.continue ?? '';
  }

  /** Returns the façade's response for a path on kube-apiserver. */
  async #readFacade(path: string): Promise<string> {
    const { status, body } = await sendRequest(this.#facade, 'GET', facadePath(path), { headers: ADMIN_HEADERS });
    if (status !== 200) throw new Error(`the façade returned ${status} for ${path}`);
    return body;
  }
}

function contractServer(cluster: RealCluster, address: ApiAddress): ContractServer {
  return {
    url: cluster.url,
    ca: cluster.ca,
    tokens: TOKENS,
    request: (method, path, request) => sendRequest(address, method, path, request),
    forget: () => Promise.reject(new Error('the history is needed')),
  };
}

/** Creates the CRDs, with the columns of the façade, and the objects of all lists; returns the version of the first object. */
async function createObjects(hub: KubeClient, admin: Admin): Promise<string> {
  const manifests = await readManifests('crds');
  for (const { crd, columns } of COMPARED_LISTS) {
    const manifest = manifests.find(({ metadata }) => metadata.name === crd);
    const { spec, ...rest } = structuredClone(manifest) as unknown as { spec: { versions: { additionalPrinterColumns: unknown }[] } };
    const versions = spec.versions.map((version) => ({ ...version, additionalPrinterColumns: columns }));
    await admin.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', { ...rest, spec: { ...spec, versions } });
  }
  await waitUntilServed(hub, [Clusters, ManagedTokens], { clock, random: Math.random, signal: AbortSignal.timeout(60_000) });
  await admin.create('/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team-b' } });
  await letAliceList(admin);
  const versions: string[] = [];
  for (const list of COMPARED_LISTS)
    for (let number = 1; number <= OBJECTS; number += 1) versions.push(await createObject(admin, list, number));
  return versions[0] ?? '';
}

/** Lets alice list the ManagedTokens in one namespace. */
async function letAliceList(admin: Admin): Promise<void> {
  const [rbac, metadata] = ['/apis/rbac.authorization.k8s.io/v1/namespaces/team-a', { name: 'token-reader' }];
  const rules = [{ apiGroups: ['tokens.purser.dev'], resources: ['managedtokens'], verbs: ['list'] }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'token-reader' };
  const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }];
  await admin.create(`${rbac}/roles`, { metadata, rules });
  await admin.create(`${rbac}/rolebindings`, { metadata, roleRef, subjects });
}

/** Creates an object, every third with a status; returns its first version. */
async function createObject(admin: Admin, { pathOf, objectOf, status }: ComparedList, number: number): Promise<string> {
  const { metadata } = await admin.create(pathOf(number), withNumber(objectOf(number), number));
  if (number % 3 === 0) await admin.patch(`${pathOf(number)}/${metadata.name}/status`, { status });
  return metadata.resourceVersion;
}

function withNumber(object: object, number: number): object {
  const { metadata, ...rest } = object as { readonly metadata: { readonly labels: object } };
  return { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, number: String(number) } } };
}

/** Returns the version on one server: the façade appends digits for a caller who sees everything. */
function versionOn(side: Side, version: string): string {
  return side === 'kube' ? version : formatFacadeVersionAt(Number(version), Visibility.everything);
}

/** Token of the same length for both servers, because errors contain positions. */
const SOME_TOKEN = Buffer.from('{"v":"meta.k8s.io/v1","rv":123,"start":"/c03\\u0000"}').toString('base64url');

/** Returns a continue token in another form. */
function garble(token: string, form: string | undefined, versionOf: (name: string) => string): string {
  if (token === '' || form === undefined) return token;
  const fields = JSON.parse(Buffer.from(token, 'base64url').toString()) as Record<string, unknown>;
  const encode = (changes: object) => Buffer.from(JSON.stringify({ ...fields, ...changes })).toString('base64url');
  const forms: Readonly<Record<string, () => string>> = {
    expired: () => encode({ rv: Number(versionOf('old')) }),
    future: () => encode({ rv: Number(versionOf('future')) }),
    negative: () => encode({ rv: -1 }),
    zero: () => encode({ rv: 0 }),
    text: () => encode({ rv: 'abc' }),
    cut: () => SOME_TOKEN.slice(0, -3),
    longer: () => `${SOME_TOKEN}AAAA`,
    padded: () => `${SOME_TOKEN}==`,
    other: () => encode({ start: '/zzz\0' }),
    dots: () => encode({ start: '../x' }),
    empty: () => encode({ start: '' }),
    end: () => encode({ start: 'zzz\0' }),
    v2: () => encode({ v: 'meta.k8s.io/v2' }),
    before: () => encode({ start: 'a\0' }),
  };
  const garbled = forms[form];
  if (garbled === undefined) throw new Error(`continue tokens have no form ${form}`);
  return garbled();
}
