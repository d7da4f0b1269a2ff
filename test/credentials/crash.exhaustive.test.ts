// The process dies at every request boundary of a renewal: before a request is served, and after it is served but before the response
// arrives. The next process knows only the stored objects.

import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Clusters, Secrets } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { CREDENTIALS } from '../tokens/token-world.ts';
import { CredentialWorld } from './credential-world.ts';

const MINUTE_MS = 60_000;

/** Request at which the process dies, counted from `arm`. */
interface Crash {
  readonly at: number;
  readonly when: 'before' | 'after';
}

/** Counts requests to the hub and the target, and drops all requests from the crash on. */
class Process {
  requests = 0;
  #crash: Crash | undefined;
  #isDead = false;

  arm(crash: Crash | undefined): void {
    this.#crash = crash;
    this.requests = 0;
  }

  /** Returns whether the next request is served and whether its response arrives. */
  next(): { readonly isServed: boolean; readonly hasResponse: boolean } {
    const isFatal = !this.#isDead && this.#crash?.at === this.requests++;
    const isServed = !this.#isDead && !(isFatal && this.#crash?.when === 'before');
    if (isFatal) this.#isDead = true;
    return { isServed, hasResponse: isServed && !isFatal };
  }
}

/** Returns the crashes before and after each of this many requests. */
function crashesAt(requests: number): readonly Crash[] {
  return Array.from({ length: requests }, (_, at) => [{ at, when: 'before' } as const, { at, when: 'after' } as const]).flat();
}

let world: CredentialWorld;
let current = new Process();

beforeAll(async () => {
  world = await CredentialWorld.start();
  world.pass = (handler, request, reply) => {
    const { isServed, hasResponse } = current.next();
    if (hasResponse) return handler(request, reply);
    if (!isServed) return reply.reset();
    return handler(request, Object.assign(Object.create(reply) as typeof reply, { json: () => reply.reset() }));
  };
});
afterEach(() => world.end());
afterAll(() => world.close());

/** Returns the client of the hub of a process that may die. */
function mortal(process: Process): KubeClient {
  return new Proxy(world.hub.admin, {
    get: (client, name) => {
      const member: unknown = Reflect.get(client, name, client);
      if (typeof member !== 'function') return member;
      if (name !== 'create' && name !== 'update' && name !== 'delete' && name !== 'list') return member.bind(client) as unknown;
      return async (...args: readonly unknown[]) => {
        const { isServed, hasResponse } = process.next();
        if (isServed) {
          const response: unknown = await member.call(client, ...args);
          if (hasResponse) return response;
        }
        throw new TransportError('ECONNRESET', 'the process died');
      };
    },
  });
}

async function start(): Promise<{ readonly process: Process; stop(): Promise<void> }> {
  const process = new Process();
  current = process;
  const replica = await world.run({ hub: mortal(process), isProbing: false });
  return { process, stop: () => replica.stop() };
}

/** Renews twice, with a crash during the first or the second renewal. Returns the number of requests of that renewal. */
async function renewTwice(round: 'first' | 'second', crash?: Crash): Promise<number> {
  current = new Process();
  await world.begin({ lifetime: '12h' });
  await world.register(world.target.issueToken(600));
  let replica = await start();
  const survive = async () => {
    const { requests } = replica.process;
    if (crash !== undefined) {
      await replica.stop();
      replica = await start();
    }
    return requests;
  };
  let requests = 0;
  if (round === 'first') {
    replica.process.arm(crash);
    await world.wait(30_000);
    requests = await survive();
  }
  await world.nextToken();
  await world.wait(2 * MINUTE_MS, 5_000);
  if (round === 'second') {
    const before = await world.renewedToken();
    await world.wait((await world.renewAt()) - world.clock.now() - 2_000, 5 * MINUTE_MS);
    replica.process.arm(crash);
    await world.wait(2 * MINUTE_MS, 1_000);
    requests = await survive();
    await world.nextToken(before);
  }
  await world.wait(13 * MINUTE_MS, 10_000);
  await replica.stop();
  return requests;
}

/** Returns to the registered token, with a crash in the meantime. Returns that token and the number of requests. */
async function retire(crash?: Crash): Promise<{ readonly token: string; readonly requests: number }> {
  current = new Process();
  const token = await world.begin({ lifetime: '12h' });
  let replica = await start();
  await world.nextToken();
  await world.wait(15_000);
  replica.process.arm(crash);
  await world.hub.admin.patch(Clusters, { name: world.name }, { spec: { credential: { renewal: 'Manual' } } });
  await world.wait(2 * MINUTE_MS, 1_000);
  const { requests } = replica.process;
  if (crash !== undefined) {
    await replica.stop();
    replica = await start();
    await world.wait(13 * MINUTE_MS, 10_000);
  }
  await replica.stop();
  return { token, requests };
}

/** Revokes earlier tokens, with a crash in the meantime. Returns the earlier token and the number of requests. */
async function revoke(crash?: Crash): Promise<{ readonly token: string; readonly requests: number }> {
  current = new Process();
  await world.begin({ lifetime: '168h', overlap: '24h' });
  let replica = await start();
  const token = await world.nextToken();
  await world.wait(15_000);
  replica.process.arm(crash);
  const annotations = { 'registry.purser.dev/revoke-credential': 'now' };
  await world.hub.admin.patch(Secrets, { namespace: CREDENTIALS, name: world.name }, { metadata: { annotations } });
  await world.wait(MINUTE_MS, 1_000);
  const { requests } = replica.process;
  if (crash !== undefined) {
    await replica.stop();
    replica = await start();
    await world.wait(MINUTE_MS, 1_000);
  }
  await replica.stop();
  return { token, requests };
}

describe('credential controller that crashes', () => {
  it.each(['first', 'second'] as const)(
    'keeps access to the cluster after a crash at any request of the %s renewal',
    async (round) => {
      const calm = await renewTwice(round);
      expect(world.target.accepts(await world.renewedToken())).toBe(true);
      expect(calm).toBeGreaterThan(3);
      for (const { at, when } of crashesAt(calm)) {
        await world.end();
        await renewTwice(round, { at, when });
        const token = await world.renewedToken();
        const result = { at, when, isAccepted: world.target.accepts(token), anchors: world.target.anchors.size };
        expect(result).toEqual({ at, when, isAccepted: true, anchors: 1 });
      }
    },
    300_000,
  );

  it('leaves only the registered token after a crash at any request of the switch back to it', async () => {
    const { requests } = await retire();
    expect(requests).toBeGreaterThan(4);
    for (const { at, when } of crashesAt(requests)) {
      await world.end();
      const { token } = await retire({ at, when });
      const [renewed, anchors] = [await world.renewed(), world.target.anchors.size];
      expect({ at, when, isAccepted: world.target.accepts(token), renewed, anchors }).toEqual({
        at,
        when,
        isAccepted: true,
        renewed: undefined,
        anchors: 0,
      });
    }
  }, 300_000);

  it('completes a revocation after a crash at any of its requests', async () => {
    const { requests } = await revoke();
    expect(requests).toBeGreaterThan(8);
    for (const { at, when } of crashesAt(requests)) {
      await world.end();
      const { token } = await revoke({ at, when });
      const revoked = (await world.renewed())?.metadata.annotations?.['registry.purser.dev/revoked'];
      const isAccepted = world.target.accepts(await world.renewedToken());
      expect({
        at,
        when,
        revoked,
        isAccepted,
        isStolenAccepted: world.target.accepts(token),
        anchors: world.target.anchors.size,
      }).toEqual({
        at,
        when,
        revoked: 'now',
        isAccepted: true,
        isStolenAccepted: false,
        anchors: 1,
      });
    }
  }, 300_000);
});
