// A fleet in memory with the Cluster controller. Writes and probes are counted, not timed.

import { setImmediate as turn } from 'node:timers/promises';
import { BehaviorSubject, NEVER, type Subscription } from 'rxjs';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { Secret } from '../../src/api/resources.ts';
import { type ClusterControllerOptions, createClusterController } from '../../src/clusters/controller.ts';
import { objectKeyOf } from '../../src/kube/paths.ts';
import { sleep } from '../../src/std/clock.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { FakeClock } from '../support/clock.ts';
import { registered } from '../targets/registration.ts';

export const STEP_MS = 100;

interface Write {
  readonly name: string;
  readonly at: number;
  /** Status of the Ready condition. */
  readonly ready: string | undefined;
}

interface FleetOptions {
  readonly size: number;
  /** True for clusters that never respond. */
  readonly isDead?: (name: string) => boolean;
  /** True if each cluster has a credential; clusters without one are not probed. */
  readonly hasCredentials?: boolean;
}

/** Responds to every request of a probe like a healthy cluster. */
const HEALTHY = {
  transport: { request: async () => ({ status: 200, headers: {}, body: 'ok' }) },
  getText: async () => '{"gitVersion":"v1.36.4"}',
  createReview: async () => ({ status: { userInfo: { username: 'purser' }, allowed: true } }),
};

export class Fleet {
  readonly clock = new FakeClock();
  /** Written statuses, in order. */
  readonly writes: Write[] = [];
  /** Times of /readyz probes, by cluster. */
  readonly probes = new Map<string, number[]>();
  readonly clusters = new Map<string, Cluster>();
  /** Number of reconciles. */
  reconciles = 0;
  readonly #isDead: (name: string) => boolean;
  readonly #hasCredentials: boolean;
  /** Credential Secrets, by `namespace/name`. */
  readonly #credentials = new Map<string, Secret>();
  #term: Subscription | undefined;

  constructor({ size, isDead = () => false, hasCredentials = true }: FleetOptions) {
    this.#isDead = isDead;
    this.#hasCredentials = hasCredentials;
    this.grow(size);
  }

  /** Registers clusters; the controller lists them at its next start. */
  grow(size: number): void {
    for (let index = this.clusters.size; index < size; index++) {
      const { cluster, credential } = registered({ name: `c${index}`, uid: `uid-${index}`, servers: ['https://192.0.2.1'] });
      this.clusters.set(`c${index}`, cluster);
      if (this.#hasCredentials && credential !== undefined) this.#credentials.set(objectKeyOf(credential), credential);
    }
  }

  /** Starts the controller; a running one is stopped and loses its state. */
  restart(): void {
    this.stop();
    this.#term = createClusterController(this.#options())(new AbortController().signal).subscribe(() => {
      this.reconciles += 1;
    });
  }

  stop(): void {
    this.#term?.unsubscribe();
  }

  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += STEP_MS) {
      this.clock.advance(STEP_MS);
      for (let turns = 0; turns < 3; turns++) await turn();
    }
  }

  #options(): ClusterControllerOptions {
    const { clock, clusters } = this;
    const store = {
      get: (name: string) => clusters.get(name),
      keys: () => [...clusters.keys()],
      get size() {
        return clusters.size;
      },
      index: () => () => [],
    };
    const hub = {
      updateStatus: async (_: unknown, cluster: Cluster) => {
        const { metadata, status } = cluster;
        const { name = '' } = metadata;
        this.writes.push({ name, at: clock.now(), ready: status?.conditions?.[0]?.status });
        clusters.set(name, cluster);
      },
    };
    const use = async (of: { readonly cluster: Cluster }, work: (target: unknown) => unknown) => {
      if (!this.#hasCredentials) throw new IssueError('CredentialMissing');
      return await work(this.#target(of.cluster.metadata.name ?? ''));
    };
    const options = {
      informers: {
        clusters: { store, changes$: NEVER, synced$: new BehaviorSubject(true) },
        credentials: [{ store: { get: (key: string) => this.#credentials.get(key) }, changes$: NEVER, synced$: new BehaviorSubject(true) }],
        tokens: { store: {}, changes$: NEVER, synced$: new BehaviorSubject(true) },
      },
      hub,
      clients: { use },
      recorder: { record: () => {} },
      clock,
      random: () => 0,
      settings: { probeIntervalMs: 10_000, accessIntervalMs: 60_000 },
    };
    return options as unknown as ClusterControllerOptions;
  }

  #target(name: string): object {
    const call = async (request: (client: typeof HEALTHY, options: object) => unknown) => {
      this.probes.set(name, [...(this.probes.get(name) ?? []), this.clock.now()]);
      if (!this.#isDead(name)) return await request(HEALTHY, {});
      await sleep(this.clock, 5_000);
      throw new IssueError('ClusterTimeout', 'silence', { code: 'ETIMEDOUT' });
    };
    return { createProber: () => ({ call }), activeServer: 'https://192.0.2.1' };
  }
}
