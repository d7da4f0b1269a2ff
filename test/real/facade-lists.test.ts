// Lists of the façade on a real hub: reflectors of client-go, with and without WatchList, and watches whose token is revoked.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiObject, Namespaces, Secrets, ServiceAccounts } from '../../src/api/resources.ts';
import { clusterFacade } from '../contract/cluster-facade.ts';
import { eventually } from '../contract/eventually.ts';
import { WIRE_KINDS, type WireKind } from '../contract/listed-kinds.ts';
import { contractServer } from '../contract/server.ts';
import { reflectorBinary } from '../support/kube-binaries.ts';

const server = contractServer();
const facade = clusterFacade(server, { historyCapacity: 40 });
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'purser-reflector-'));
  await writeFile(join(folder, 'ca.crt'), facade.ca);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Process that keeps the list with a reflector, and prints it on request. */
class Reflector {
  readonly #program: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: Interface;

  constructor(token: string, { plural, watchList }: { readonly plural: string; readonly watchList: boolean }) {
    const binary = reflectorBinary();
    if (binary === undefined) throw new Error('The reflector was not found. Run `npm run kube:build`.');
    const env = { ...process.env, KUBE_FEATURE_WatchListClient: String(watchList) };
    this.#program = spawn(binary, [facade.url, join(folder, 'ca.crt'), token, plural], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    this.#lines = createInterface({ input: this.#program.stdout });
  }

  async state(): Promise<unknown> {
    const next = once(this.#lines, 'line') as Promise<[string]>;
    this.#program.stdin.write('\n');
    return JSON.parse((await next)[0]);
  }

  async stop(): Promise<void> {
    const ended = once(this.#program, 'exit');
    this.#program.kill();
    await ended;
  }
}

async function listObjects({ path }: WireKind, token: string): Promise<unknown> {
  const { body } = await facade.request('GET', path, { headers: { authorization: `Bearer ${token}` } });
  const { items } = JSON.parse(body) as { readonly items: readonly (ApiObject & { readonly spec: unknown })[] };
  return items.map(({ metadata: { namespace, name, labels }, spec }) => ({ ...(namespace && { namespace }), name, labels, spec }));
}

describe('reflector of client-go', () => {
  it.each(WIRE_KINDS.flatMap(([plural, kind]) => [false, true].map((watchList) => [plural, watchList, kind] as const)))(
    'converges to the state of a new list while %s and permissions change, with WatchList: %s',
    async (plural, watchList, kind) => {
      const { hub, tokens } = facade;
      const { alice, admin } = tokens;
      await kind.prepare(hub);
      const keys = Array.from({ length: 12 }, (_, index) => kind.keyOf(index));
      await kind.grant(hub, 'alice', keys.slice(0, 4));
      const reflectors = [new Reflector(alice, { plural, watchList }), new Reflector(admin, { plural, watchList })];
      const expectSynced = async () => {
        expect(await reflectors[0]?.state()).toEqual(await listObjects(kind, alice));
        expect(await reflectors[1]?.state()).toEqual(await listObjects(kind, admin));
      };
      for (let round = 1; round <= 6; round++) {
        for (const key of keys) await kind.put(hub, key, { round: String(round) });
        await kind.grant(hub, 'alice', keys.slice(round, round + 5));
        await kind.delete(hub, keys[round] ?? '');
        await eventually(expectSynced);
      }
      for (const reflector of reflectors) await reflector.stop();
    },
  );
});

/** Starts a watch, and returns its response. */
async function watch(token: string): Promise<IncomingMessage> {
  const request = get(`${facade.url}/auth/v1/clusters?watch=true`, {
    agent: facade.agent,
    headers: { authorization: `Bearer ${token}` },
  });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  expect(response.statusCode).toBe(200);
  return response.resume();
}

describe('watch of the façade', () => {
  const account = { namespace: 'revoked', name: 'watcher' };
  const anchor = { namespace: 'revoked', name: 'anchor' };
  const boundObjectRef = { apiVersion: 'v1', kind: 'Secret', name: anchor.name };

  beforeAll(async () => {
    await facade.hub.create(Namespaces, { metadata: { name: 'revoked' } });
  });

  it.each([
    ['service account', {}, () => facade.hub.delete(ServiceAccounts, account)],
    ['bound Secret', { boundObjectRef }, () => facade.hub.delete(Secrets, anchor)],
  ])('ends after deletion of the %s of its token', async (_object, spec, revoke) => {
    await facade.hub.apply(ServiceAccounts, { metadata: account }, { force: true });
    await facade.hub.apply(Secrets, { metadata: anchor }, { force: true });
    const token = await tokenFor(spec);
    const response = await watch(token);
    const ended = once(response, 'end');
    // The hub and the façade have both just cached the token as valid.
    await revoke();
    await ended;
    const after = await facade.request('GET', '/auth/v1/clusters', { headers: { authorization: `Bearer ${token}` } });
    expect(after.status).toBe(401);
  });

  async function tokenFor(spec: object): Promise<string> {
    const path = `/api/v1/namespaces/${account.namespace}/serviceaccounts/${account.name}/token`;
    const { body } = await server.request('POST', path, {
      headers: { authorization: `Bearer ${server.tokens.admin}`, 'content-type': 'application/json' },
      body: JSON.stringify({ spec }),
    });
    return (JSON.parse(body) as { readonly status: { readonly token: string } }).status.token;
  }
});
