import { expect, it } from '@jest/globals';
import type { ApiObject, Stored } from '../../src/api/resources.ts';
import { ObjectStore } from '../../src/kube/store.ts';
import { HubView, type TokenInformers } from '../../src/tokens/informers.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { tokenTriggers } from '../../src/tokens/triggers.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { aToken } from '../support/builders.ts';

let indexes = 0;

class CountingStore extends ObjectStore<ApiObject> {
  override index(valuesOf: (object: Stored<ApiObject>) => readonly string[]): (value: string) => readonly Stored<ApiObject>[] {
    indexes += 1;
    return super.index(valuesOf);
  }
}

it('adds no index to the stores with a second term', () => {
  const informer = () => Object.assign(new HandInformer<ApiObject>(), { store: new CountingStore() });
  const single = { tokens: informer(), clusters: informer(), secrets: informer(), requesters: informer() };
  const informers = { ...single, roles: informer(), bindings: informer(), credentials: [informer()] } as unknown as TokenInformers;
  const view = new HubView(informers);
  const before = indexes;
  for (let term = 0; term < 3; term++) tokenTriggers(informers, view, new TrackedTokens()).subscribe().unsubscribe();
  expect(indexes).toBe(before);
});

it('wakes at most 16 of a thousand ManagedTokens that name one Secret when the Secret or one of them changes', () => {
  const informer = () => new HandInformer<ApiObject>();
  const [tokens, secrets] = [informer(), informer()];
  const others = { clusters: informer(), requesters: informer(), roles: informer(), bindings: informer(), credentials: [informer()] };
  const informers = { tokens, secrets, ...others } as unknown as TokenInformers;
  const triggered: string[] = [];
  tokenTriggers(informers, new HubView(informers), new TrackedTokens()).subscribe((key) => triggered.push(key));
  const claimants = Array.from({ length: 1_000 }, (_, index) =>
    aToken()
      .writing({ name: 'shared' })
      .withMetadata({ name: `t-${index}`, uid: `uid-${index}`, resourceVersion: '1' })
      .build(),
  );
  tokens.list(...claimants);
  triggered.length = 0;
  secrets.apply({ metadata: { name: 'shared', namespace: 'team-a', uid: 's', resourceVersion: '2' } });
  tokens.apply(aToken().writing({ name: 'shared' }).withMetadata({ name: 'late', uid: 'late', resourceVersion: '3' }).build());
  expect(triggered.length).toBeGreaterThan(0);
  expect(triggered.length).toBeLessThanOrEqual(33);
});
