import { describe, expect, it } from '@jest/globals';
import { Clusters, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { untilServed } from '../../src/kube/discovery.ts';
import { notFound, serviceUnavailable } from '../../src/kubernetes/status.ts';
import { FakeClock } from '../support/clock.ts';
import { turn } from './eventually.ts';

type Answers = Readonly<Record<string, () => string>>;

function world(answers: Answers) {
  const clock = new FakeClock();
  const told: unknown[] = [];
  const stopping = new AbortController();
  const state = { answers };
  const client = { getText: async (path: string) => (state.answers[path] ?? missing)() };
  const served = untilServed(client, [Secrets, Clusters, ManagedTokens], {
    clock,
    random: () => 0,
    signal: stopping.signal,
    onMissing: (kinds) => told.push(kinds.map(({ kind }) => kind)),
    onProblem: (error) => told.push((error as Error).message),
  });
  return { clock, told, served, state, stopping };
}

const listing = (name: string) => () => JSON.stringify({ kind: 'APIResourceList', resources: [{ name }, { name: `${name}/status` }] });
const missing = (): string => {
  throw notFound({ group: '', name: 'paths' }, 'x');
};
const all: Answers = {
  '/api/v1': listing('secrets'),
  '/apis/registry.purser.dev/v1alpha1': listing('clusters'),
  '/apis/tokens.purser.dev/v1alpha1': listing('managedtokens'),
};

describe('untilServed', () => {
  it('resolves immediately if all kinds are served', async () => {
    const { served, told, clock } = world(all);
    await served;

    expect(told).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('waits for missing kinds and groups and reports them', async () => {
    const { served, told, clock, state } = world({ '/api/v1': listing('secrets'), '/apis/tokens.purser.dev/v1alpha1': listing('others') });
    await turn();
    expect(told).toEqual([['Cluster', 'ManagedToken']]);

    state.answers = all;
    clock.advance(50);
    await served;
  });

  it('checks again after a failure', async () => {
    const broken = () => {
      throw serviceUnavailable('starting', 1);
    };
    const { served, told, clock, state } = world({ ...all, '/api/v1': broken });
    await turn();
    expect(told).toEqual(['starting']);

    state.answers = all;
    clock.advance(50);
    await served;
  });

  it('rejects on abort and leaves no timer', async () => {
    const { served, clock, stopping } = world({});
    await turn();
    stopping.abort(new Error('stopped'));

    await expect(served).rejects.toThrow('stopped');
    expect(clock.pending).toBe(0);
  });
});
