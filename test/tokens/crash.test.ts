// The process dies at every request boundary: before a request is served, and after it is served but before the answer arrives.
// Whoever comes next knows nothing but what is stored.

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ManagedTokenSpec } from '../../src/api/managed-token.gen.ts';
import { systemClock } from '../../src/std/clock.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { startTarget } from '../targets/wire-target.ts';
import { ScriptedHub } from './scripted-hub.ts';
import { ScriptedTarget } from './scripted-target.ts';
import { Looker } from './test-reconciler.ts';

jest.setTimeout(120_000);

type When = 'before' | 'after';

/** Where the process dies: at this request, counted from the last `arm`. */
interface Crash {
  readonly at: number;
  readonly when: When;
}

let world: WireWorld;
let server: WireServer;
let scene: Scene;

beforeAll(async () => {
  world = await startWireWorld((request, reply) => scene.pass(scene.hub.handler, request, reply), systemClock as unknown as FakeClock);
  server = await startTarget((request, reply) => scene.pass(scene.target.handler, request, reply));
});
afterAll(async () => {
  await world.close();
  await server.close();
});

/** One ManagedToken, and whoever looks after it. */
class Scene {
  readonly clock = new FakeClock(Date.now());
  readonly hub: ScriptedHub;
  readonly target = new ScriptedTarget(this.clock);
  readonly problems: string[] = [];
  looker: Looker;
  #crash: Crash | undefined;
  #requests = 0;
  #isDead = false;

  constructor(spec: Partial<ManagedTokenSpec>) {
    this.hub = new ScriptedHub(
      aToken()
        .with({ audiences: ['api'], ...spec })
        .build(),
    );
    this.looker = this.#start();
  }

  /** Requests since `arm`. */
  get requests(): number {
    return this.#requests;
  }

  arm(crash?: Crash): void {
    this.#crash = crash;
    this.#requests = 0;
  }

  /** Serves a request, unless nobody is there any more who sent it. */
  pass(handler: WireHandler, ...[request, reply]: Parameters<WireHandler>): void | Promise<void> {
    const isFatal = this.#crash?.at === this.#requests++;
    if (this.#isDead || (isFatal && this.#crash?.when === 'before')) {
      this.#isDead = true;
      return reply.reset();
    }
    if (!isFatal) return handler(request, reply);
    this.#isDead = true;
    return handler(request, Object.assign(Object.create(reply) as typeof reply, { json: () => reply.reset() }));
  }

  /** Another process, with an empty memory. */
  async restart(): Promise<void> {
    await this.looker.close();
    this.#isDead = false;
    this.#crash = undefined;
    this.looker = this.#start();
  }

  async look(): Promise<void> {
    this.looker.sync();
    await this.looker.look();
    this.looker.sync();
    this.#check();
  }

  get isWell(): boolean {
    const { conditions = [], observedGeneration } = this.hub.token.status ?? {};
    const isReady = conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
    const name = this.hub.token.spec.secret.name ?? 'ci';
    const isAlone = this.hub.secrets.size === 1 && this.hub.secrets.has(name);
    return isReady && observedGeneration === this.hub.token.metadata.generation && isAlone && this.target.accepts(this.token(name));
  }

  token(name = 'ci'): string {
    return Buffer.from(this.hub.secrets.get(name)?.data?.['token'] ?? '', 'base64').toString();
  }

  /** Ready is said of nothing that the target does not accept. */
  #check(): void {
    const isReady = this.hub.token.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    const tokens = [...this.hub.secrets.keys()].map((name) => this.token(name)).filter((token) => token !== '');
    if (isReady && !this.#isDead && !tokens.some((token) => this.target.accepts(token))) this.problems.push('Ready without a token');
    if (this.hub.trespasses.length > 0) this.problems.push(...this.hub.trespasses);
  }

  #start(): Looker {
    return new Looker({ clock: this.clock, hub: this.hub, client: world.client, server: server.url });
  }
}

interface Story {
  readonly spec: Partial<ManagedTokenSpec>;
  /** Brings about what the crash is to interrupt. */
  readonly begin?: (of: Scene) => void;
}

const rename = (of: Scene) =>
  of.hub.change((token) => ({ ...token, spec: { ...token.spec, secret: { name: 'renamed', outputs: ['Token'] } } }));
const revoke = (of: Scene) =>
  of.hub.change((token) => ({ ...token, metadata: { ...token.metadata, annotations: { 'tokens.purser.dev/revoke': 'now' } } }));
const due = (of: Scene) => of.clock.advance(2_900_000);

const STORIES: Readonly<Record<string, Story>> = {
  'a first issuance': { spec: {} },
  'a first issuance with an anchor': { spec: { revocation: 'BoundSecret' } },
  'a rotation': { spec: {}, begin: due },
  'a rotation with an anchor': { spec: { revocation: 'BoundSecret' }, begin: due },
  'the repair of a Secret that was deleted': { spec: {}, begin: ({ hub }) => hub.secrets.clear() },
  'another name of the Secret': { spec: {}, begin: rename },
  'a revocation': { spec: { revocation: 'BoundSecret' }, begin: revoke },
  'the end of an anchor': {
    spec: { revocation: 'BoundSecret' },
    begin: ({ hub }) => hub.change((token) => ({ ...token, spec: { ...token.spec, revocation: 'None' } })),
  },
};

async function tell({ spec, begin }: Story, crash?: Crash): Promise<{ readonly requests: number; readonly issued: number }> {
  scene = new Scene(spec);
  if (begin !== undefined) {
    await scene.look();
    await scene.look();
    scene.clock.advance(15_000);
    begin(scene);
  }
  const before = scene.target.issuedAt.length;
  scene.arm(crash);
  await scene.look();
  const { requests } = scene;
  if (crash !== undefined) await scene.restart();
  for (let looks = 0; looks < 20 && !scene.isWell; looks++) {
    await scene.look();
    scene.clock.advance(2_000);
  }
  await scene.looker.close();
  return { requests, issued: scene.target.issuedAt.length - before };
}

describe('a crash (F32)', () => {
  it.each(Object.entries(STORIES))('at any request of %s costs one more token at most, and everything ends well', async (_, story) => {
    const calm = await tell(story);
    expect([scene.isWell, scene.problems, calm.requests > 1]).toEqual([true, [], true]);
    for (let at = 0; at < calm.requests; at++) {
      for (const when of ['before', 'after'] as const) {
        const { issued } = await tell(story, { at, when });
        const told = { at, when, isWell: scene.isWell, problems: scene.problems, isInMeasure: issued <= calm.issued + 1 };
        expect(told).toEqual({ at, when, isWell: true, problems: [], isInMeasure: true });
        expect(scene.target.anchors.size).toBe(scene.hub.token.spec.revocation === 'BoundSecret' ? 1 : 0);
      }
    }
  });
});
