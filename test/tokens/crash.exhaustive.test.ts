// The process dies at every request boundary: before a request is served, and after it is served but before the response arrives.
// The next process knows only the stored objects.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ManagedTokenSpec } from '../../src/api/managed-token.gen.ts';
import { systemClock } from '../../src/std/clock.ts';
import { startWireWorld, type WireWorld } from '../kube/wire-world.ts';
import { aToken } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import type { WireHandler, WireServer } from '../support/wire-server.ts';
import { startTarget } from '../targets/wire-target.ts';
import { ScriptedHub } from './scripted-hub.ts';
import { ScriptedTarget } from './scripted-target.ts';
import { TestReconciler } from './test-reconciler.ts';

type When = 'before' | 'after';

/** Request at which the process dies, counted from the last `arm`. */
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

/** One ManagedToken and its reconciler. */
class Scene {
  readonly clock = new FakeClock(Date.now());
  readonly hub: ScriptedHub;
  readonly target = new ScriptedTarget(this.clock);
  readonly problems: string[] = [];
  reconciler: TestReconciler;
  #crash: Crash | undefined;
  #requests = 0;
  #isDead = false;

  constructor(spec: Partial<ManagedTokenSpec>) {
    this.hub = new ScriptedHub(
      aToken()
        .with({ audiences: ['api'], ...spec })
        .build(),
    );
    this.reconciler = this.#start();
  }

  /** Requests since `arm`. */
  get requests(): number {
    return this.#requests;
  }

  arm(crash?: Crash): void {
    this.#crash = crash;
    this.#requests = 0;
  }

  /** Serves a request, unless the process that sent it is dead. */
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

  /** Starts another process with an empty memory. */
  async restart(): Promise<void> {
    await this.reconciler.close();
    this.#isDead = false;
    this.#crash = undefined;
    this.reconciler = this.#start();
  }

  async reconcile(): Promise<void> {
    this.reconciler.sync();
    await this.reconciler.reconcile();
    this.reconciler.sync();
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

  /** Checks that Ready is True only for a token that the target accepts. */
  #check(): void {
    const isReady = this.hub.token.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
    const tokens = [...this.hub.secrets.keys()].map((name) => this.token(name)).filter((token) => token !== '');
    if (isReady && !this.#isDead && !tokens.some((token) => this.target.accepts(token))) this.problems.push('Ready without a token');
    if (this.hub.trespasses.length > 0) this.problems.push(...this.hub.trespasses);
  }

  #start(): TestReconciler {
    return new TestReconciler({ clock: this.clock, hub: this.hub, client: world.client, server: server.url });
  }
}

interface Story {
  readonly spec: Partial<ManagedTokenSpec>;
  /** Causes the run that the crash interrupts. */
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
  'a change of the name of the Secret': { spec: {}, begin: rename },
  'a revocation': { spec: { revocation: 'BoundSecret' }, begin: revoke },
  'the deletion of a former anchor': {
    spec: { revocation: 'BoundSecret' },
    begin: ({ hub }) => hub.change((token) => ({ ...token, spec: { ...token.spec, revocation: 'None' } })),
  },
};

async function runStory({ spec, begin }: Story, crash?: Crash): Promise<{ readonly requests: number; readonly issued: number }> {
  scene = new Scene(spec);
  if (begin !== undefined) {
    await scene.reconcile();
    await scene.reconcile();
    scene.clock.advance(15_000);
    begin(scene);
  }
  const before = scene.target.issuedAt.length;
  scene.arm(crash);
  await scene.reconcile();
  const { requests } = scene;
  if (crash !== undefined) await scene.restart();
  for (let reconciles = 0; reconciles < 20 && !scene.isWell; reconciles++) {
    await scene.reconcile();
    scene.clock.advance(2_000);
  }
  await scene.reconciler.close();
  return { requests, issued: scene.target.issuedAt.length - before };
}

describe('token controller that crashes', () => {
  it.each(Object.entries(STORIES))('issues at most one more token and converges after a crash at any request of %s', async (_, story) => {
    const calm = await runStory(story);
    expect([scene.isWell, scene.problems, calm.requests > 1]).toEqual([true, [], true]);
    for (let at = 0; at < calm.requests; at++) {
      for (const when of ['before', 'after'] as const) {
        const { issued } = await runStory(story, { at, when });
        const result = { at, when, isWell: scene.isWell, problems: scene.problems, isWithinLimit: issued <= calm.issued + 1 };
        expect(result).toEqual({ at, when, isWell: true, problems: [], isWithinLimit: true });
        expect(scene.target.anchors.size).toBe(scene.hub.token.spec.revocation === 'BoundSecret' ? 1 : 0);
      }
    }
  });
});
