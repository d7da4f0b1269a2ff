import { describe, expect, it } from '@jest/globals';
import { Clusters, ManagedTokens, Secrets } from '../../src/api/resources.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { notFound, serviceUnavailable } from '../../src/kubernetes/status.ts';
import { FakeClock } from '../support/clock.ts';
import { turn } from './eventually.ts';

type Responses = Readonly<Record<string, () => string>>;

function world(responses: Responses) {
  const clock = new FakeClock();
  const reports: unknown[] = [];
  const stopping = new AbortController();
  const state = { responses };
  const client = { getText: async (path: string) => (state.responses[path] ?? missing)() };
  const served = waitUntilServed(client, [Secrets, Clusters, ManagedTokens], {
    clock,
    random: () => 0,
    signal: stopping.signal,
    onMissing: (kinds) => reports.push(kinds.map(({ kind }) => kind)),
    onProblem: (error) => reports.push((error as Error).message),
  });
  return { clock, reports, served, state, stopping };
}

const listing = (name: string) => () => JSON.stringify({ kind: 'APIResourceList', resources: [{ name }, { name: `${name}/status` }] });
const missing = (): string => {
  throw notFound({ group: '', name: 'paths' }, 'x');
};
const all: Responses = {
  '/api/v1': listing('secrets'),
  '/apis/registry.purser.dev/v1alpha1': listing('clusters'),
  '/apis/tokens.purser.dev/v1alpha1': listing('managedtokens'),
};

describe('waitUntilServed', () => {
  it('resolves immediately if all kinds are served', async () => {
    const { served, reports, clock } = world(all);
    await served;

    expect(reports).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it('waits for missing kinds and groups and reports them', async () => {
    const { served, reports, clock, state } = world({
      '/api/v1': listing('secrets'),
      '/apis/tokens.purser.dev/v1alpha1': listing('others'),
    });
    await turn();
    expect(reports).toEqual([['Cluster', 'ManagedToken']]);

    state.responses = all;
    clock.advance(50);
    await served;
  });

  it('checks the served kinds again after a failed request', async () => {
    const broken = () => {
      throw serviceUnavailable('starting', 1);
    };
    const { served, reports, clock, state } = world({ ...all, '/api/v1': broken });
    await turn();
    expect(reports).toEqual(['starting']);

    state.responses = all;
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
