import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ApiObject, Stored } from '../../src/api/resources.ts';
import { toOverBudgetStub } from '../../src/kube/namespace-bytes.ts';
import { type Lookup, ObjectStore } from '../../src/kube/store.ts';
import { tokenTriggers } from '../../src/tokens/controller.ts';
import { HubView, type TokenInformers } from '../../src/tokens/informers.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aCluster, aToken } from '../support/builders.ts';

let indexes = 0;

class CountingStore extends ObjectStore<ApiObject> {
  override index(valuesOf: (object: Stored<ApiObject>) => readonly string[]): Lookup<ApiObject> {
    indexes += 1;
    return super.index(valuesOf);
  }
}

it('adds no index to the stores in a second term as leader', () => {
  const informer = () => Object.assign(new HandInformer<ApiObject>(), { store: new CountingStore() });
  const single = { tokens: informer(), clusters: informer(), secrets: informer(), requesters: informer() };
  const informers = { ...single, roles: informer(), bindings: informer(), credentials: [informer()] } as unknown as TokenInformers;
  const view = new HubView(informers);
  const before = indexes;
  for (let term = 0; term < 3; term++) tokenTriggers(informers, view, new TrackedTokens()).subscribe().unsubscribe();
  expect(indexes).toBe(before);
});

/** A thousand ManagedTokens `t-0` (the oldest) to `t-999` that name the Secret `shared`, and the keys that changes trigger. */
class Claims {
  readonly tokens = new HandInformer<ApiObject>();
  readonly secrets = new HandInformer<ApiObject>();
  readonly clusters = new HandInformer<ApiObject>();
  readonly requesters = new HandInformer<ApiObject>();
  readonly memory = new TrackedTokens();
  readonly triggered: string[] = [];
  /** Number of ManagedTokens that the triggers looked up in memory. */
  lookups = 0;

  constructor() {
    const informer = () => new HandInformer<ApiObject>();
    const others = {
      clusters: this.clusters,
      requesters: this.requesters,
      roles: informer(),
      bindings: informer(),
      credentials: [informer()],
    };
    const informers = { tokens: this.tokens, secrets: this.secrets, ...others } as unknown as TokenInformers;
    const { memory } = this;
    const of = memory.of.bind(memory);
    memory.of = (uid) => {
      this.lookups += 1;
      return of(uid);
    };
    tokenTriggers(informers, new HubView(informers), memory).subscribe((key) => this.triggered.push(key));
    this.tokens.list(...Array.from({ length: 1_000 }, (_, index) => this.claimant(index)));
    this.reset();
  }

  claimant(index: number, { secret = 'shared', version = '1', metadata = {} } = {}): ApiObject {
    const creationTimestamp = new Date(Date.UTC(2026, 2, 1, 12, 0, index)).toISOString();
    return aToken()
      .writing({ name: secret })
      .withMetadata({
        name: `t-${index}`,
        uid: `uid-${index}`,
        resourceVersion: version,
        generation: Number(version),
        creationTimestamp,
        ...metadata,
      })
      .build();
  }

  secret(version: string, ownedBy?: number): ApiObject {
    const owner = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: `t-${ownedBy}`, uid: `uid-${ownedBy}` };
    const ownerReferences = ownedBy === undefined ? [] : [{ ...owner, controller: true }];
    return { metadata: { name: 'shared', namespace: 'team-a', uid: 's', resourceVersion: version, ownerReferences } };
  }

  reset(): void {
    this.triggered.length = 0;
    this.lookups = 0;
  }
}

describe('tokenTriggers with a thousand ManagedTokens that name one Secret', () => {
  it('triggers the owner and the oldest ManagedToken when the Secret changes, and looks up no other ManagedToken', () => {
    const claims = new Claims();
    claims.secrets.apply(claims.secret('2', 7));
    claims.secrets.apply(claims.secret('3'));
    expect(claims.triggered).toEqual(['team-a/t-7', 'team-a/t-0', 'team-a/t-7', 'team-a/t-0']);
    claims.reset();
    claims.secrets.delete(claims.secret('4'));
    expect([claims.triggered, claims.lookups < 10]).toEqual([['team-a/t-0'], true]);
  });

  it('triggers only the changed ManagedToken if its claim to the Secret stays the same', () => {
    const claims = new Claims();
    claims.tokens.apply(claims.claimant(0, { version: '2' }));
    claims.tokens.apply(claims.claimant(500, { version: '3' }));
    claims.tokens.apply(claims.claimant(1_000, { version: '4' }));
    expect([claims.triggered, claims.lookups < 10]).toEqual([['team-a/t-0', 'team-a/t-500', 'team-a/t-1000'], true]);
  });

  it('triggers the next ManagedToken when the oldest names another Secret, is being deleted or is deleted', () => {
    const claims = new Claims();
    claims.tokens.apply(claims.claimant(0, { version: '2', secret: 'other' }));
    claims.tokens.apply(claims.claimant(1, { version: '3', metadata: { deletionTimestamp: '2026-03-01T13:00:00Z' } }));
    claims.tokens.delete(claims.claimant(2, { version: '4' }));
    expect(claims.triggered).toEqual(['team-a/t-0', 'team-a/t-1', 'team-a/t-1', 'team-a/t-2', 'team-a/t-2', 'team-a/t-3']);
  });
});

describe('tokenTriggers', () => {
  it('triggers the ManagedTokens of a requester in portions if the requester is deleted and created again and again', async () => {
    const claims = new Claims();
    const requester = { metadata: { namespace: 'team-a', name: 'default', uid: 'r', resourceVersion: '1' } };
    for (let changes = 0; changes < 100; changes++) {
      claims.requesters.apply(requester);
      claims.requesters.delete(requester);
    }
    const first = claims.triggered.length;
    for (let turns = 0; turns < 20; turns++) await turn();
    expect([first, claims.triggered.length]).toEqual([499, 2_000]);
    expect(new Set(claims.triggered).size).toBe(1_000);
  });

  it('merges the waiting changes to a Cluster', async () => {
    const claims = new Claims();
    const cluster = aCluster();
    claims.clusters.apply(cluster);
    for (let turns = 0; turns < 20; turns++) await turn();
    claims.reset();
    for (let generation = 2; generation < 102; generation++) {
      claims.clusters.apply({ ...cluster, metadata: { ...cluster.metadata, resourceVersion: `${generation}`, generation } });
    }
    for (let turns = 0; turns < 300; turns++) await turn();
    expect(claims.triggered).toHaveLength(2_000);
  });

  it('examines in portions the ManagedTokens that a change to a label does not affect', async () => {
    const claims = new Claims();
    let examined = 0;
    const secret = {
      name: 'x',
      get argocd() {
        examined += 1;
        return undefined;
      },
    };
    const tokenOf = (index: number) => {
      const token = claims.claimant(index, { version: '2' }) as unknown as Stored<ManagedToken>;
      return { ...token, spec: { ...token.spec, secret } };
    };
    claims.tokens.list(...Array.from({ length: 1_000 }, (_, index) => tokenOf(index) as unknown as ApiObject));
    const cluster = aCluster();
    claims.clusters.apply(cluster);
    for (let turns = 0; turns < 20; turns++) await turn();
    claims.reset();
    examined = 0;
    for (let version = 2; version < 52; version++) {
      const metadata = { ...cluster.metadata, resourceVersion: `${version}`, labels: { version: `${version}` } };
      claims.clusters.apply({ ...cluster, metadata });
    }
    const first = examined;
    for (let turns = 0; turns < 20; turns++) await turn();
    expect([first, examined, claims.triggered]).toEqual([499, 2_000, []]);
  });

  it('triggers at most 16 owners of a Secret, and none that does not exist', () => {
    const claims = new Claims();
    const ownerOf = (name: string) => ({ apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name, uid: name });
    const names = Array.from({ length: 100 }, (_, index) => [`none-${index}`, `t-${index + 1}`]).flat();
    const secret = { ...claims.secret('2').metadata, ownerReferences: names.map(ownerOf) };
    claims.secrets.apply({ metadata: secret });
    expect(claims.triggered).toEqual([...Array.from({ length: 16 }, (_, index) => `team-a/t-${index + 1}`), 'team-a/t-0']);
  });

  it('triggers a ManagedToken that became a stub because its namespace is over its budget, and again when it is whole', () => {
    const claims = new Claims();
    const update = (version: string) => claims.claimant(7, { version, metadata: { generation: 1 } });
    claims.tokens.apply(update('2'));
    expect(claims.triggered).toEqual([]);
    claims.tokens.apply({ ...update('3'), isOverBudget: true } as ApiObject);
    claims.tokens.apply(update('4'));
    expect(claims.triggered).toEqual(['team-a/t-7', 'team-a/t-7']);
  });

  it('triggers the ManagedToken whose own Secret becomes a stub, and again when a list restores it without a new version', () => {
    const claims = new Claims();
    claims.memory.keep('uid-0').written = { resourceVersion: '10', tokenDigest: undefined };
    claims.secrets.apply(claims.secret('10', 0));
    expect(claims.triggered).toEqual([]);
    const whole = claims.secret('10', 0) as Stored<ApiObject>;
    claims.secrets.apply(toOverBudgetStub(whole, { bytes: 0, small: 0, toStub: (secret) => secret }));
    claims.secrets.apply(claims.secret('10', 0));
    expect(claims.triggered).toEqual(['team-a/t-0', 'team-a/t-0']);
  });
});
