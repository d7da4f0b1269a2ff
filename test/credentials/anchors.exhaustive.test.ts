// Random schedules of renewals, new registered tokens, changed terms, lost Secrets and crashes, in memory. Every anchor that was ever
// created is in use, in the record, or deleted soon after its replacement.

import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster, ClusterCredential } from '../../src/api/cluster.gen.ts';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { type CredentialControllerOptions, createCredentialController } from '../../src/credentials/controller.ts';
import type { TransportRequest } from '../../src/kube/transport.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import { Once } from '../../src/std/single-flight.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { readCredentialInUse } from '../../src/targets/credential.ts';
import { combineRenewalTerms, computeOverlapMs } from '../../src/targets/policy/renewal.ts';
import { parseRenewal } from '../../src/targets/policy/renewed-secret.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { FakeClock } from '../support/clock.ts';
import { scaled } from '../support/scaled.ts';
import { silentLog } from '../support/silent-log.ts';
import { aCredential, CREDENTIALS, registered } from '../targets/registration.ts';
import { USERNAME } from './scripted-cluster.ts';

const STEP_MS = 5_000;
const PROBE_MS = 10_000;
const LATENESS_MS = 30_000;
const NAME = 'c';

/** An event of a schedule. */
type Action =
  | { readonly type: 'wait'; readonly minutes: number }
  | { readonly type: 'register' }
  | { readonly type: 'terms'; readonly lifetime: string; readonly overlap: string }
  | { readonly type: 'lose' }
  /**
   * The process loses all requests starting with one of them, and is replaced after a time, in which the Secret with the record may be
   * lost.
   */
  | {
      readonly type: 'crash';
      readonly after: number;
      readonly isServed: boolean;
      readonly minutes: number;
      readonly isRecordLost: boolean;
    };

const actions: fc.Arbitrary<Action> = fc.oneof(
  fc.record({ type: fc.constant('wait' as const), minutes: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ type: fc.constant('register' as const) }),
  fc.record({
    type: fc.constant('terms' as const),
    lifetime: fc.constantFrom('10m', '30m', '1h', '168h'),
    overlap: fc.constantFrom('0s', '1m', '7m', '1h', '24h'),
  }),
  fc.record({ type: fc.constant('lose' as const) }),
  fc.record({
    type: fc.constant('crash' as const),
    after: fc.integer({ min: 0, max: 8 }),
    isServed: fc.boolean(),
    minutes: fc.integer({ min: 0, max: 3 }),
    isRecordLost: fc.boolean(),
  }),
);

/** A process that renews credentials. */
interface Process {
  /** Number of requests so far. */
  requests: number;
  /** Number of the request at which the process crashes, and true if that request is still served; undefined if it does not crash. */
  crash?: { readonly at: number; readonly isServed: boolean };
  isDead: boolean;
  subscription?: { unsubscribe(): void };
}

/** A hub, a target and one process at a time. */
class Simulation {
  readonly clock = new FakeClock();
  /** Anchors on the target by name. */
  readonly anchors = new Map<string, string>();
  /** Time at which each anchor was first seen as replaced. */
  readonly #replacedAt = new Map<string, number>();
  readonly #boundTo = new Map<string, string | undefined>();
  readonly #clusters = new HandInformer<Cluster>();
  readonly #credentials = new HandInformer<Secret>();
  #credential: Partial<ClusterCredential> = {};
  #generation = 1;
  #count = 0;
  #registered: Stored<Secret> | undefined;
  #renewed: Stored<Secret> | undefined;
  #process: Process = { requests: 0, isDead: true };
  #longestOverlapMs = 0;

  start(): void {
    this.#boundTo.set('token-0', undefined);
    this.#setRegistered('token-0');
    this.#startProcess();
  }

  async run(action: Action): Promise<void> {
    if (action.type === 'wait') await this.wait(action.minutes * 60_000);
    else if (action.type === 'register') {
      const token = `token-${++this.#count}`;
      this.#boundTo.set(token, undefined);
      this.#setRegistered(token);
      this.#credentials.apply(this.#registered as Secret);
    } else if (action.type === 'terms') {
      this.#credential = { lifetime: action.lifetime, overlap: action.overlap };
      this.#generation += 1;
      this.#clusters.apply(this.#cluster());
    } else if (action.type === 'lose') {
      if (this.#renewed === undefined) return;
      this.#credentials.delete(this.#renewed);
      this.#renewed = undefined;
      // The process writes the Secret again.
      await this.wait(600_000);
    } else {
      this.#process.crash = { at: this.#process.requests + action.after, isServed: action.isServed };
      await this.wait(60_000);
      this.#process.isDead = true;
      this.#process.subscription?.unsubscribe();
      await this.wait(action.minutes * 60_000);
      if (action.isRecordLost) this.#loseRecord();
      this.#startProcess();
    }
    await this.wait(STEP_MS);
  }

  /** Loses the Secret with the record while no process runs; the overlap of all anchors begins again when a process finds them. */
  #loseRecord(): void {
    this.#renewed = undefined;
    this.#replacedAt.clear();
  }

  async wait(ms: number): Promise<void> {
    for (const end = this.clock.now() + ms; this.clock.now() < end; this.clock.advance(STEP_MS)) {
      for (let turns = 0; turns < 30; turns++) await turn();
      this.#observe();
    }
  }

  /** Describes anchors that should not exist. One anchor may wait for the next renewal, after a crash before its token was written. */
  faults(): readonly string[] {
    const record = this.#renewed && parseRenewal(this.#renewed, this.#registered?.metadata.uid ?? '');
    const recorded = new Set([record?.anchor, ...(record?.replaced ?? [])].map((anchor) => anchor?.uid));
    const unrecorded = [...this.anchors.values()].filter((uid) => !recorded.has(uid));
    const lateMs = (uid: string) =>
      this.clock.now() - (this.#replacedAt.get(uid) ?? Infinity) - this.#longestOverlapMs - PROBE_MS - LATENESS_MS;
    const late = [...this.anchors.values()].filter((uid) => lateMs(uid) > 0).map((uid) => `${uid} is ${lateMs(uid)} ms late`);
    return [
      ...late,
      ...unrecorded.filter((uid) => unrecorded.length > 1 || this.#replacedAt.has(uid)).map((uid) => `${uid} is not on record`),
    ];
  }

  /** Returns whether the token in use is accepted. */
  isAuthorized(): boolean {
    const credential = readCredentialInUse(this.#registered as Stored<Secret>, this.#renewed);
    return credential.type === 'token' && this.#accepts(credential.token.reveal());
  }

  #accepts(token: string): boolean {
    if (!this.#boundTo.has(token)) return false;
    const uid = this.#boundTo.get(token);
    return uid === undefined || [...this.anchors.values()].includes(uid);
  }

  #observe(): void {
    const terms = combineRenewalTerms([this.#cluster()]);
    const record = this.#renewed && parseRenewal(this.#renewed, this.#registered?.metadata.uid ?? '');
    const lifetimeMs = record === undefined ? 0 : record.expiresAt - record.renewedAt;
    this.#longestOverlapMs = Math.max(this.#longestOverlapMs, computeOverlapMs(terms, lifetimeMs, PROBE_MS));
    if (this.#process.isDead || record === undefined) {
      // While no process runs, nothing can be deleted.
      for (const uid of this.#replacedAt.keys()) this.#replacedAt.set(uid, this.clock.now());
      return;
    }
    for (const { uid } of record.replaced) if (!this.#replacedAt.has(uid)) this.#replacedAt.set(uid, this.clock.now());
    if (record.anchor !== undefined) this.#replacedAt.delete(record.anchor.uid);
  }

  #setRegistered(token: string): void {
    const { credential } = registered({ name: NAME, credential: aCredential({ token, server: 'https://192.0.2.1', cluster: NAME }) });
    const secret = credential as Stored<Secret>;
    const version = { name: NAME, uid: 'secret', resourceVersion: String(++this.#count) };
    this.#registered = { ...secret, metadata: { ...secret.metadata, ...version } };
  }

  #cluster(): Stored<Cluster> {
    const controller = { kind: 'Secret', namespace: CREDENTIALS, name: NAME } as const;
    const { cluster } = registered({ name: NAME, uid: 'cluster', servers: ['https://192.0.2.1'], controller });
    const credential = { renewal: 'Auto', lifetime: '1h', overlap: '1m', ...this.#credential } as const;
    return { ...cluster, metadata: { ...cluster.metadata, generation: this.#generation }, spec: { ...cluster.spec, credential } };
  }

  #startProcess(): void {
    const process: Process = { requests: 0, isDead: false };
    this.#process = process;
    process.subscription = createCredentialController(this.#options(process)).run(new AbortController().signal).subscribe();
    this.#clusters.list(this.#cluster());
    this.#credentials.list(...[this.#registered, this.#renewed].filter((secret) => secret !== undefined));
  }

  /** Serves one request, unless the process has crashed. */
  async #request<T>(process: Process, serve: () => T): Promise<T> {
    const { crash } = process;
    const isFatal = process.requests++ === crash?.at;
    const isServed = !process.isDead && !(isFatal && !crash.isServed);
    if (isFatal) process.isDead = true;
    if (!isServed) throw new TransportError('ECONNRESET', 'the process crashed');
    const response = serve();
    if (process.isDead) throw new TransportError('ECONNRESET', 'the process crashed');
    return response;
  }

  #options(process: Process): CredentialControllerOptions {
    const write = (secret: Secret) => {
      const version = { uid: 'renewed', resourceVersion: String(++this.#count) };
      this.#renewed = { ...secret, metadata: { ...secret.metadata, ...version } } as Stored<Secret>;
      this.#credentials.apply(this.#renewed);
      return this.#renewed;
    };
    const use = async (token: Sensitive<string>, work: (target: unknown) => unknown) => await work(this.#target(process, token));
    const inUse = (of: RegisteredCluster) => readCredentialInUse(of.credential as Stored<Secret>, of.renewed);
    const clients = {
      use: async (of: RegisteredCluster, work: (target: unknown) => unknown) => {
        const credential = inUse(of);
        return credential.type === 'token' ? await use(credential.token, work) : undefined;
      },
      useOnce: (_: RegisteredCluster, token: Sensitive<string>, work: (target: unknown) => unknown) => use(token, work),
      endpointsOf: () => ({ servers: [] }),
      readSecrets: async () => await this.#request(process, () => ({ credential: this.#registered, renewed: this.#renewed })),
    };
    const options = {
      informers: { clusters: this.#clusters, credentials: [this.#credentials] },
      hub: {
        create: (_: unknown, secret: Secret) => this.#request(process, () => write(secret)),
        update: (_: unknown, secret: Secret) => this.#request(process, () => write(secret)),
      },
      clients,
      recorder: { record: () => {} },
      clock: this.clock,
      random: () => 0,
      log: silentLog,
      settings: { probeIntervalMs: PROBE_MS },
    };
    return options as unknown as CredentialControllerOptions;
  }

  #target(process: Process, token: Sensitive<string>): object {
    const anchors = () => [...this.anchors].map(([name, uid]) => ({ metadata: { name, uid } }));
    const client = {
      create: (_: unknown, { metadata: { name = '' } }: Secret) => {
        const known = this.anchors.get(name);
        const uid = known ?? `anchor-${++this.#count}`;
        this.anchors.set(name, uid);
        return { metadata: { name, uid } };
      },
      delete: (_: unknown, { name }: { readonly name: string }, { uid }: { readonly uid: string }) => {
        if (this.anchors.get(name) === uid) this.anchors.delete(name);
      },
      pages: async function* (this: void) {
        yield { items: anchors() };
      },
      createReview: () => ({ status: { userInfo: { username: USERNAME } } }),
      transport: { request: async (request: TransportRequest) => this.#issue(request) },
    };
    const call = (request: (each: typeof client, options: object) => unknown, options: object) =>
      this.#request(process, () => {
        if (!this.#accepts(token.reveal())) throw new TransportError('EACCES', 'rejected');
        return request(client, options);
      });
    return { credential: { type: 'token', token: new Sensitive(token.reveal()) }, clock: this.clock, username: new Once(), call };
  }

  #issue({ body = '' }: TransportRequest): object {
    const { spec } = JSON.parse(body) as {
      readonly spec: { readonly expirationSeconds: number; readonly boundObjectRef?: { readonly uid: string } };
    };
    const token = `token-${++this.#count}`;
    this.#boundTo.set(token, spec.boundObjectRef?.uid);
    const expirationTimestamp = formatTimestamp(this.clock.now() + spec.expirationSeconds * 1_000);
    const response = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: {},
      spec,
      status: { token, expirationTimestamp },
    };
    return { status: 201, headers: { date: new Date(this.clock.now()).toUTCString() }, body: JSON.stringify(response) };
  }
}

it('leaves no anchor behind, and deletes each soon after its overlap, in random schedules with crashes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(actions, { minLength: 4, maxLength: 25 }), async (schedule) => {
      const simulation = new Simulation();
      simulation.start();
      await simulation.wait(STEP_MS);
      for (const action of schedule) {
        await simulation.run(action);
        expect(simulation.faults()).toEqual([]);
        expect(simulation.isAuthorized()).toBe(true);
      }
    }),
    { numRuns: scaled({ full: 40, quick: 4 }) },
  );
}, 300_000);
