// The process dies at each write of a ManagedToken or a ManagedTokenSet, before the request is sent and after it is handled, and after each
// request during a removal or a rollout, before the response arrives. The next process knows only the stored objects, which are the same
// after a request and before the next one.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SetFieldManager } from '../../src/api/names.ts';
import { KubeClient } from '../../src/kube/client.ts';
import type { Transport, TransportRequest } from '../../src/kube/transport.ts';
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

/** A client of the hub that stops working at one of the counted requests. */
class DyingHub {
  readonly client: KubeClient;
  isDead = false;
  readonly #isCounted: (sent: TransportRequest) => boolean;
  #left = Infinity;
  #when: When = 'before';
  /** Request after which the process dies. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(isCounted: (sent: TransportRequest) => boolean = () => true) {
    this.#isCounted = isCounted;
    const { transport } = world.tokens.hub.client('pursertoken');
    const request: Transport['request'] = async (sent) => {
      const isFatal = this.#isCounted(sent) && this.#left-- === 0;
      if (isFatal && this.#when === 'after') await (this.#last = transport.request(sent));
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

  /** Dies at the request with this number from now on, before the request is sent or after it is handled. */
  dieAt(at: number, when: When): void {
    this.#left = at;
    this.#when = when;
  }

  /** Lets the process live unless it is already dying. Returns whether it is dead. */
  async disarm(): Promise<boolean> {
    this.#left = Infinity;
    await this.#last;
    return this.isDead;
  }
}

const isWriteOfSets = ({ method, query }: TransportRequest) => method !== 'GET' && query?.['fieldManager'] === SetFieldManager;

const CLUSTERS = ['a', 'b'];
/** Crashes before and after each of the first six writes. */
const CRASHES = Array.from({ length: 6 }, (_, at) => [[at, 'before'] as const, [at, 'after'] as const]).flat();

async function restart(hub?: KubeClient): Promise<void> {
  for (const controller of world.tokens.running.splice(0)) await controller.stop().catch(() => {});
  await world.tokens.run({ hasSets: true, ...(hub && { hub }) });
}

/** A change on the hub that the controller acts on with several requests. */
interface Change {
  /** Brings the hub into the state before the change. */
  readonly prepare?: () => Promise<void>;
  readonly make: () => Promise<void>;
  /** Returns whether the controller has finished. */
  readonly isDone: () => Promise<boolean>;
  /** Checks the state after the controller has finished, and reverts the change. */
  readonly verify: () => Promise<void>;
}

/** Repeats a change, with a process that dies after another request each time, until it dies after none. Returns the number of requests. */
async function crashAfterEachRequest({ prepare, make, isDone, verify }: Change, step = 1): Promise<number> {
  for (let at = 0; ; at += step) {
    const dying = new DyingHub();
    await restart(dying.client);
    await prepare?.();
    dying.dieAt(at, 'after');
    await make();
    await world.tokens.until(async () => dying.isDead || (await isDone()));
    const isDead = await dying.disarm();
    if (isDead) {
      await restart();
      await world.tokens.pass(60_000, 5_000);
    }
    await world.tokens.until(isDone);
    await verify();
    if (!isDead) return at;
  }
}

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `c${String(index).padStart(2, '0')}`);

/** Starts with a complete set of this many clusters. */
async function begin(count: number, maxConcurrent = 10): Promise<void> {
  await world.register(numbered(count));
  for (const name of numbered(count)) await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
  await world.tokens.run({ hasSets: true });
  await world.create('fleet', { maxConcurrent });
  await world.until(complete(count));
}

/** Returns the UIDs of ManagedTokens by name. */
async function uids(): Promise<Readonly<Record<string, string | undefined>>> {
  return Object.fromEntries((await world.children()).map(({ metadata }) => [metadata.name, metadata.uid]));
}

const isComplete = async (count: number) => (await world.summary()) === complete(count);
const label = (names: readonly string[], env: string) => Promise.all(names.map((name) => world.label(name, { env })));

describe('set controller that crashes', () => {
  it.each(CRASHES)(
    'creates each ManagedToken once and changes it once after a crash at write %i, %s the write is stored',
    async (at, when) => {
      await world.register(CLUSTERS);
      for (const name of CLUSTERS) await world.tokens.allow(name, { name: `${world.namespace}-${name}` });
      const dying = new DyingHub(isWriteOfSets);
      dying.dieAt(at, when);
      await world.tokens.run({ hasSets: true, hub: dying.client });
      await world.create('fleet', { maxConcurrent: 1 });
      await world.tokens.until(async () => dying.isDead || (await isComplete(2)));
      if (dying.isDead) await restart();
      await world.until(complete(2));
      const before = (await world.children()).map(({ metadata }) => metadata.uid);
      await world.patch({ spec: { template: { spec: { expirationSeconds: 7200 } } } });
      const isChanged = async () => (await world.children()).every(({ spec }) => spec.expirationSeconds === 7200);
      await world.tokens.until(async () => dying.isDead || (await isChanged()));
      if (dying.isDead) await restart();
      await world.tokens.until(isChanged);
      await world.until(complete(2));
      const children = await world.children();
      expect(children.map(({ metadata }) => metadata.name)).toEqual(['fleet-a', 'fleet-b']);
      expect(children.map(({ metadata }) => [metadata.uid, metadata.generation])).toEqual(before.map((uid) => [uid, 2]));
    },
  );
});

describe('set controller that restarts after removals', () => {
  it('removes additional ManagedTokens a minute later, because the number of earlier removals is unknown', async () => {
    await begin(20);
    await label(numbered(10), 'test');
    await world.until(complete(10));
    const removedAt = world.tokens.clock.now();
    await restart();
    await label(numbered(19), 'test');
    await world.until(complete(1));
    expect(world.tokens.clock.now() - removedAt).toBeGreaterThanOrEqual(60_000);
    expect(await world.names()).toEqual(['fleet-c19']);
  });
});

describe('set controller that crashes after any request', () => {
  it('removes exactly the ManagedTokens of clusters that left the set', async () => {
    await begin(2);
    const [leaving, before] = [numbered(1), await uids()];
    const requests = await crashAfterEachRequest({
      make: async () => void (await label(leaving, 'test')),
      isDone: async () => (await isComplete(1)) && (await world.names()).length === 1,
      verify: async () => {
        expect(await uids()).toEqual({ 'fleet-c01': before['fleet-c01'] });
        await label(leaving, 'prod');
        await world.until(complete(2));
      },
    });
    expect(requests).toBeGreaterThan(4);
  });

  it('finishes a rollout with one change to each ManagedToken', async () => {
    await begin(2, 1);
    const before = await uids();
    let seconds = 3_600;
    const requests = await crashAfterEachRequest({
      make: () => world.patch({ spec: { template: { spec: { expirationSeconds: (seconds += 60) } } } }),
      isDone: async () => (await isComplete(2)) && (await world.children()).every(({ spec }) => spec.expirationSeconds === seconds),
      verify: async () => {
        expect(await uids()).toEqual(before);
        const generations = (await world.children()).map(({ metadata }) => metadata.generation);
        expect(generations).toEqual(generations.map(() => (seconds - 3_600) / 60 + 1));
      },
    });
    expect(requests).toBeGreaterThan(4);
  });

  it('keeps a removal paused until it is confirmed', async () => {
    await begin(14);
    const [leaving, before] = [numbered(12), await uids()];
    const isPaused = async () => (await world.summary()) === '2/2/2/0 Ready=True AllReady Progressing=False RemovalPaused';
    const requests = await crashAfterEachRequest({
      make: async () => void (await label(leaving, 'test')),
      isDone: isPaused,
      verify: async () => {
        await world.tokens.pass(120_000, 5_000);
        expect(await isPaused()).toBe(true);
        expect(await uids()).toEqual(before);
        await label(leaving, 'prod');
        await world.until(complete(14));
      },
    });
    expect(requests).toBeGreaterThan(0);
  });

  it('removes only the ManagedTokens of a confirmed removal', async () => {
    await begin(14);
    const leaving = numbered(12);
    const isPaused = async () => (await world.summary()).endsWith('RemovalPaused');
    let kept: object = {};
    const change: Change = {
      prepare: async () => {
        const { 'fleet-c12': a, 'fleet-c13': b } = await uids();
        kept = { 'fleet-c12': a, 'fleet-c13': b };
        await label(leaving, 'test');
        await world.tokens.until(isPaused);
      },
      make: () => world.confirmRemoval(),
      isDone: async () => {
        // The rest of a confirmed removal may need another confirmation.
        if (await isPaused()) await world.confirmRemoval();
        return (await isComplete(2)) && (await world.names()).length === 2;
      },
      verify: async () => {
        expect(await uids()).toEqual(kept);
        await label(leaving, 'prod');
        await world.until(complete(14));
      },
    };
    expect(await crashAfterEachRequest(change, 31)).toBeGreaterThan(12);
  });
});
