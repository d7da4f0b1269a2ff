// The process dies at each write of a ManagedToken or a ManagedTokenSet: before the write is sent, and after it is stored but before the
// response arrives. The next process knows only the stored objects.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SetFieldManager } from '../../src/api/names.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Transport } from '../../src/kube/transport.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { complete, SetWorld } from './set-world.ts';

let world: SetWorld;

beforeAll(async () => {
  world = await SetWorld.start();
});
beforeEach(() => world.tokens.begin());
afterEach(() => world.tokens.end());
afterAll(() => world.tokens.close());

type When = 'before' | 'after';

/** A client of the hub that stops to work at one of the writes of sets. */
class DyingHub {
  readonly client: KubeClient;
  writes = 0;
  isDead = false;

  constructor(at: number, when: When) {
    const { transport } = world.tokens.hub.client('pursertoken');
    const request: Transport['request'] = async (sent) => {
      const isWrite = sent.method !== 'GET' && sent.query?.['fieldManager'] === SetFieldManager;
      const isFatal = isWrite && this.writes++ === at;
      if (isFatal && when === 'after') await transport.request(sent);
      if (isFatal || this.isDead) {
        this.isDead = true;
        throw new TransportError('ECONNRESET', 'the process is dead');
      }
      return await transport.request(sent);
    };
    const dying = new Proxy(transport, {
      get: (target, name) => {
        const value: unknown = name === 'request' ? request : Reflect.get(target, name);
        return typeof value === 'function' && name !== 'request' ? value.bind(target) : value;
      },
    });
    this.client = new KubeClient(dying, 'purser');
  }
}

const CLUSTERS = ['a', 'b'];
const WHEN: readonly When[] = ['before', 'after'];

async function restart(): Promise<void> {
  for (const controller of world.tokens.running.splice(0)) await controller.stop().catch(() => {});
  await world.tokens.run({ hasSets: true });
}

describe('set controller that crashes', () => {
  it.each(Array.from({ length: 6 }, (_, at) => WHEN.map((when) => [at, when] as const)).flat())(
    'creates each ManagedToken once and changes it once after a crash at write %i, %s it is stored',
    async (at, when) => {
      await world.register(CLUSTERS);
      for (const name of CLUSTERS) await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
      const dying = new DyingHub(at, when);
      await world.tokens.run({ hasSets: true, hub: dying.client });
      await world.create('fleet', { maxConcurrent: 1 });
      const isComplete = async () => (await world.summary()) === complete(2);
      await world.tokens.until(async () => dying.isDead || (await isComplete()));
      if (dying.isDead) await restart();
      await world.until(complete(2));
      const uids = (await world.children()).map(({ metadata }) => metadata.uid);
      await world.patch({ spec: { template: { spec: { expirationSeconds: 7200 } } } });
      const isChanged = async () => (await world.children()).every(({ spec }) => spec.expirationSeconds === 7200);
      await world.tokens.until(async () => dying.isDead || (await isChanged()));
      if (dying.isDead) await restart();
      await world.tokens.until(isChanged);
      await world.until(complete(2));
      const children = await world.children();
      expect(children.map(({ metadata }) => metadata.name)).toEqual(['fleet-a', 'fleet-b']);
      expect(children.map(({ metadata }) => [metadata.uid, metadata.generation])).toEqual(uids.map((uid) => [uid, 2]));
    },
  );
});
