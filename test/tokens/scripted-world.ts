// A scripted hub and a target on the wire, shared by the tests of a file; `reset` replaces hub and clock.

import { systemClock } from '../../src/std/clock.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireServer } from '../support/wire-server.ts';
import { grant, startTarget } from '../targets/wire-target.ts';
import { ScriptedHub } from './scripted-hub.ts';
import { type ReconcilerOptions, TestReconciler } from './test-reconciler.ts';

export class ScriptedWorld {
  clock = new FakeClock(Date.now());
  hub = newHub();
  /** Number of tokens that the target has issued. */
  issued = 0;
  /** True if the target resets every connection. */
  isDown = false;
  #hubWire: WireWorld | undefined;
  #target: WireServer | undefined;

  static async start(): Promise<ScriptedWorld> {
    const world = new ScriptedWorld();
    world.#hubWire = await startWireWorld((request, reply) => world.hub.handler(request, reply), systemClock as unknown as FakeClock);
    world.#target = await startTarget((request, reply) => {
      if (world.isDown) return reply.reset();
      world.issued += 1;
      const now = world.clock.now();
      grant(request, reply, { now, headers: { date: new Date(now).toUTCString() }, claims: { jti: `jti-${world.issued}` } });
    });
    return world;
  }

  /** Address of the target. */
  get server(): string {
    return this.#target?.url ?? '';
  }

  /** Replaces hub and clock, and sets counts to 0. */
  reset(): void {
    this.clock = new FakeClock(Date.now());
    this.hub = newHub();
    this.issued = 0;
    this.isDown = false;
  }

  /** Creates a reconciler for the ManagedToken of the hub. */
  reconciler(options: Pick<ReconcilerOptions, 'timers' | 'budgets'> = {}): TestReconciler {
    const { client } = this.#hubWire as WireWorld;
    return new TestReconciler({ clock: this.clock, hub: this.hub, client, server: this.server, ...options });
  }

  async close(): Promise<void> {
    await this.#hubWire?.close();
    await this.#target?.close();
  }
}

function newHub(): ScriptedHub {
  const token = aToken().with({ audiences: ['api'] });
  return new ScriptedHub(token.build());
}
