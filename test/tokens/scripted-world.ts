// A scripted hub and a target on the wire, which last for a file of tests; hub, clock and counts are new for each test.

import { systemClock } from '../../src/std/clock.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireServer } from '../support/wire-server.ts';
import { grant, startTarget } from '../targets/wire-target.ts';
import { Looker, type LookerOptions } from './looker.ts';
import { ScriptedHub } from './scripted-hub.ts';

export class ScriptedWorld {
  clock = new FakeClock(Date.now());
  hub = newHub();
  /** How many tokens the target has issued. */
  issued = 0;
  /** Whether the target resets every connection. */
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

  /** The address of the target. */
  get server(): string {
    return this.#target?.url ?? '';
  }

  /** As if nothing had happened. */
  renew(): void {
    this.clock = new FakeClock(Date.now());
    this.hub = newHub();
    this.issued = 0;
    this.isDown = false;
  }

  /** One that looks at the ManagedToken of the hub. */
  looker(options: Pick<LookerOptions, 'timers' | 'budgets'> = {}): Looker {
    const { client } = this.#hubWire as WireWorld;
    return new Looker({ clock: this.clock, hub: this.hub, client, server: this.server, ...options });
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
