// Many clusters with a lifetime of one hour, in memory. Renewals are counted, not timed.

import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { Secret, Stored } from '../../src/api/resources.ts';
import { type CredentialControllerOptions, createCredentialController } from '../../src/credentials/controller.ts';
import type { TransportRequest } from '../../src/kube/transport.ts';
import type { Sensitive } from '../../src/std/sensitive.ts';
import { Once } from '../../src/std/single-flight.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { readCredentialInUse } from '../../src/targets/credential.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { FakeClock } from '../support/clock.ts';
import { scaled } from '../support/scaled.ts';
import { silentLog } from '../support/silent-log.ts';
import { aCredential, CREDENTIALS, registered } from '../targets/registration.ts';
import { USERNAME } from './scripted-cluster.ts';

const SIZE = scaled({ full: 1_000, quick: 100 });
const MINUTE_MS = 60_000;
const STEP_MS = 1_000;

class Fleet {
  readonly clock = new FakeClock();
  /** Times of token requests. */
  readonly renewals: number[] = [];
  /** Number of all requests to targets. */
  requests = 0;
  /** Number of writes on the hub. */
  writes = 0;
  readonly #clusters = new HandInformer<Cluster>();
  readonly #credentials = new HandInformer<Secret>();
  #count = 0;

  start(): void {
    createCredentialController(this.#options()).run(new AbortController().signal).subscribe();
    const all = Array.from({ length: SIZE }, (_, index) => this.#cluster(`c-${index}`));
    this.#clusters.list(...all.map(({ cluster }) => cluster));
    this.#credentials.list(...all.map(({ credential }) => credential as Secret));
  }

  async wait(ms: number): Promise<void> {
    for (const end = this.clock.now() + ms; this.clock.now() < end; this.clock.advance(STEP_MS))
      for (let turns = 0; turns < 8; turns++) await turn();
  }

  #cluster(name: string): RegisteredCluster {
    const controller = { kind: 'Secret', namespace: CREDENTIALS, name } as const;
    const { cluster, credential } = registered({
      name,
      uid: `cluster-${name}`,
      servers: ['https://192.0.2.1'],
      controller,
      credential: aCredential({ token: `token-of-${name}`, server: 'https://192.0.2.1', cluster: name }),
    });
    const spec = { ...cluster.spec, credential: { renewal: 'Auto', lifetime: '1h', overlap: '1m' } as const };
    const secret = credential as Stored<Secret>;
    return { cluster: { ...cluster, spec }, credential: { ...secret, metadata: { ...secret.metadata, name, uid: `secret-${name}` } } };
  }

  #options(): CredentialControllerOptions {
    const write = async (_: unknown, secret: Secret) => {
      this.writes += 1;
      const version = { uid: `renewed-${secret.metadata.name}`, resourceVersion: String(++this.#count) };
      const written = { ...secret, metadata: { ...secret.metadata, ...version } } as Stored<Secret>;
      this.#credentials.apply(written);
      return written;
    };
    const run = async (token: Sensitive<string>, work: (target: unknown) => unknown) => await work(this.#target(token));
    const clients = {
      use: (of: RegisteredCluster, work: (target: unknown) => unknown) => {
        const credential = readCredentialInUse(of.credential as Stored<Secret>, of.renewed);
        return credential.type === 'token' ? run(credential.token, work) : undefined;
      },
      useOnce: (_: RegisteredCluster, token: Sensitive<string>, work: (target: unknown) => unknown) => run(token, work),
      endpointsOf: () => ({ servers: [] }),
      readSecrets: async (of: RegisteredCluster) => ({ credential: of.credential, renewed: of.renewed }),
    };
    const options = {
      informers: { clusters: this.#clusters, credentials: [this.#credentials] },
      hub: { create: write, update: write },
      clients,
      recorder: { record: () => {} },
      clock: this.clock,
      random: () => 0,
      log: silentLog,
      settings: { probeIntervalMs: 10_000 },
    };
    return options as unknown as CredentialControllerOptions;
  }

  #target(token: Sensitive<string>): object {
    const client = {
      create: async () => ({ metadata: { uid: `anchor-${++this.#count}` } }),
      delete: async () => {},
      async *pages() {
        yield { items: [] };
      },
      createReview: async () => ({ status: { userInfo: { username: USERNAME } } }),
      transport: { request: async (request: TransportRequest) => this.#issue(request) },
    };
    const call = async (request: (each: typeof client, options: object) => unknown) => {
      this.requests += 1;
      return await request(client, {});
    };
    return { credential: { type: 'token', token }, clock: this.clock, username: new Once(), call };
  }

  #issue({ body = '' }: TransportRequest): object {
    this.renewals.push(this.clock.now());
    const { spec } = JSON.parse(body) as { readonly spec: { readonly expirationSeconds: number } };
    const expirationTimestamp = formatTimestamp(this.clock.now() + spec.expirationSeconds * 1_000);
    const status = { token: `token-${++this.#count}`, expirationTimestamp };
    const response = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', metadata: {}, spec, status };
    return { status: 201, headers: { date: new Date(this.clock.now()).toUTCString() }, body: JSON.stringify(response) };
  }
}

it('spreads the renewals of one-hour credentials evenly: at most 60 per minute for the fleet, with about six requests each', async () => {
  const fleet = new Fleet();
  fleet.start();
  await fleet.wait(2 * MINUTE_MS);
  expect([fleet.renewals.length, fleet.writes]).toEqual([SIZE, SIZE]);
  await fleet.wait(60 * MINUTE_MS);
  const [before, requests] = [fleet.renewals.length, fleet.requests];
  await fleet.wait(60 * MINUTE_MS);
  const renewals = fleet.renewals.slice(before);
  expect(renewals.length).toBeLessThanOrEqual(2.05 * SIZE);
  expect(renewals.length).toBeGreaterThanOrEqual(1.95 * SIZE);
  expect((fleet.requests - requests) / renewals.length).toBeLessThanOrEqual(6.1);
  const perMinute = Map.groupBy(renewals, (at) => Math.floor(at / MINUTE_MS));
  expect(Math.max(...[...perMinute.values()].map(({ length }) => length))).toBeLessThanOrEqual(60);
}, 120_000);
