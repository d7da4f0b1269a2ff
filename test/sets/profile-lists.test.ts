import { describe, expect, it } from '@jest/globals';
import type { ListOptions } from '../../src/kube/client.ts';
import { publishProfiles } from '../../src/sets/cluster-profiles.ts';
import type { Member } from '../../src/sets/policy/plan.ts';
import type { SetRun } from '../../src/sets/run.ts';
import { TrackedSet } from '../../src/sets/tracked-set.ts';
import { NOON } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';
import { aMember, aSet } from './set-builder.ts';

const PUBLISHED = {
  type: 'ClusterProfilesPublished',
  status: 'True',
  reason: 'Published',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
} as const;
const MEMBER = aMember(aSet(), 'a', undefined);

/** Runs of one set, whose hub has three pages of ClusterProfiles. */
class Runs {
  readonly clock = new FakeClock(NOON);
  readonly lists: ListOptions[] = [];
  readonly spent: string[] = [];
  waitMs = 0;
  requeuedAt = Infinity;
  readonly #tracked = new TrackedSet();

  async publish(members: readonly Member[], { isRecorded = true } = {}) {
    const { spec, ...rest } = aSet();
    const set = { ...rest, spec: { ...spec, clusterProfiles: true }, ...(isRecorded && { status: { conditions: [PUBLISHED] } }) };
    const { clock, lists, spent } = this;
    const run = {
      set,
      clock,
      tracked: this.#tracked,
      hub: { pages: (_: object, options: ListOptions) => lists.push(options) > 0 && pages() },
      budgets: { waitMs: () => this.waitMs, spend: (budget: string, namespace: string) => spent.push(`${budget} ${namespace}`) },
      view: { tokensOfSet: () => [], registry: { clusters: new Map() } },
      signal: new AbortController().signal,
      isCurrent: () => true,
      requeue: (at: number) => {
        this.requeuedAt = Math.min(this.requeuedAt, at);
      },
    } as unknown as SetRun;
    return await publishProfiles(run, { set, members, surplus: [] });
  }
}

async function* pages() {
  for (let page = 0; page < 3; page += 1) yield { items: [], resourceVersion: '1' };
}

describe('publishProfiles', () => {
  it('lists no ClusterProfiles for a set that has no clusters and has never published any', async () => {
    const runs = new Runs();
    expect(await runs.publish([], { isRecorded: false })).toBe('none');
    expect([runs.lists, runs.requeuedAt]).toEqual([[], Infinity]);
  });

  it('lists ClusterProfiles once for a set that has no clusters and published some in an earlier leader term', async () => {
    const runs = new Runs();
    for (let run = 0; run < 3; run += 1) {
      expect(await runs.publish([])).toMatchObject({ reason: 'Published' });
      runs.clock.advance(600_000);
    }
    expect(runs.lists).toHaveLength(1);
  });

  it('lists ClusterProfiles every five minutes for a set with clusters', async () => {
    const runs = new Runs();
    for (let run = 0; run < 4; run += 1) {
      await runs.publish([MEMBER]);
      runs.clock.advance(150_000);
    }
    expect(runs.lists).toHaveLength(2);
  });

  it('lists ClusterProfiles in small pages, and charges each page to the namespace', async () => {
    const runs = new Runs();
    await runs.publish([MEMBER]);
    expect(runs.lists).toEqual([expect.objectContaining({ namespace: 'team-a', limit: 16 })]);
    expect(runs.spent).toEqual(['reviews team-a', 'reviews team-a', 'reviews team-a']);
  });

  it('defers the list while the namespace is over its budget, and keeps the condition unchanged', async () => {
    const runs = new Runs();
    runs.waitMs = 7_000;
    expect(await runs.publish([MEMBER])).toBeUndefined();
    expect([runs.lists, runs.requeuedAt]).toEqual([[], NOON + 7_000]);
    runs.waitMs = 0;
    expect(await runs.publish([MEMBER])).toMatchObject({ reason: 'Published' });
  });
});
