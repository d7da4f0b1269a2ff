// Completion with a scripted hub, in this process and in a real bash.

import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { newFolder } from '../support/folders.ts';
import { run } from '../support/run.ts';
import { runPurser } from '../support/run-purser.ts';
import { startWireServer, type WireServer } from '../support/wire-server.ts';

let folder: string;
let kubeconfig: string;
let hub: WireServer;
const requests: string[] = [];

/** Makes timers a hundred times slower, so that no completion ends early because the machine is busy. */
const SLOW_TIMERS = `data:text/javascript,${encodeURIComponent('const { setTimeout: set } = globalThis; globalThis.setTimeout = (run, ms) => set(run, ms * 100);')}`;
const ARN = 'arn:aws:eks:eu-west-1:1:cluster/one';
const LISTS: Readonly<Record<string, readonly string[]>> = {
  '/apis/registry.purser.dev/v1alpha1/clusters': ['target-1', 'target-2', 'other'],
  '/api/v1/namespaces': ['team-a', 'team-b'],
  '/apis/tokens.purser.dev/v1alpha1/namespaces/team-a/managedtokens': ['ci', 'web'],
};

beforeAll(async () => {
  folder = await newFolder();
  kubeconfig = join(folder, 'config');
  hub = await startWireServer(({ path }, reply) => {
    requests.push(path);
    const items = LISTS[path]?.map((name) => ({ metadata: { name, namespace: 'team-a', uid: name, resourceVersion: '1' } }));
    if (items === undefined) return;
    reply.json(200, { kind: 'List', metadata: { resourceVersion: '1' }, items });
  });
  const clusters = [
    { name: 'hub', cluster: { server: hub.url } },
    { name: 'silent', cluster: { server: `${hub.url}/silent` } },
  ];
  const contexts = [
    { name: 'hub', context: { cluster: 'hub', user: '', namespace: 'team-a' } },
    { name: ARN, context: { cluster: 'hub', user: '' } },
    { name: 'arn:aws:eks:us-east-1:1:cluster/two', context: { cluster: 'silent', user: '' } },
  ];
  const config = { clusters, contexts, users: [], 'current-context': 'hub' };
  await writeFile(kubeconfig, JSON.stringify(config));
  const program = join(folder, 'purser');
  const launcher = join(import.meta.dirname, '../../bin/purser.cjs');
  await writeFile(program, `#!/bin/sh\nexec ${process.execPath} --import '${SLOW_TIMERS}' ${launcher} "$@"\n`);
  await chmod(program, 0o755);
});
afterAll(() => hub.close());

async function complete(...words: readonly string[]): Promise<readonly string[]> {
  const { code, output, stderr } = await runPurser(['__complete', ...words], { env: { KUBECONFIG: kubeconfig } });
  expect([code, stderr]).toEqual([0, '']);
  return output.trimEnd().split('\n');
}

const namesOf = (lines: readonly string[]) => lines.map((line) => line.split('\t')[0]);

describe('purser __complete', () => {
  it.each([
    [['cl'], ['cluster\tmanage registered clusters', ':4']],
    [
      ['cluster', 'rev'],
      ["revoke\trevoke Purser's earlier tokens for a cluster", ':4'],
    ],
    [
      ['run', '--log-level', 'f'],
      ['fatal', ':4'],
    ],
    [
      ['run', '--log-level=f'],
      ['fatal', ':4'],
    ],
    [['run', '--ready-file', ''], [':0']],
    [['run', '--ready-file=a'], [':0']],
    [['run', '--probe-interval', ''], [':4']],
    [
      ['dev', '--clusters', '2', '--no-s'],
      ['--no-samples\tdo not create sample objects, such as namespaces and ManagedTokens', ':4'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish', ':4'],
    ],
    [
      ['help', 'print', 'reg'],
      ['registration\tprint a Cluster manifest to apply to the hub', ':4'],
    ],
    [['nonsense', ''], [':4']],
    [['version', 'more', ''], [':4']],
  ])('completes %j from the declared commands', async (words, expected) => {
    expect(await complete(...words)).toEqual(expected);
  });

  it('completes all visible commands for an empty line', async () => {
    expect(namesOf(await complete(''))).toEqual(expect.arrayContaining(['run', 'dev', 'cluster', 'print', 'version', ':4']));
    expect(namesOf(await complete())).toEqual(namesOf(await complete('')));
  });

  it('omits options that apply only to a local run from the completion of purser run', async () => {
    const options = namesOf(await complete('run', '-'));
    expect(options).toEqual(expect.arrayContaining(['--facade-port', '--help', '-h']));
    expect(options).not.toContain('--data-dir');
  });

  it('completes contexts of the kubeconfig', async () => {
    expect(namesOf(await complete('cluster', 'revoke', '--context', ''))).toEqual([
      'hub',
      ARN,
      'arn:aws:eks:us-east-1:1:cluster/two',
      ':4',
    ]);
    expect(namesOf(await complete('cluster', 'revoke', '--hub-context=h'))).toEqual(['hub', ':4']);
  });

  it('completes names of Clusters from the hub', async () => {
    expect(await complete('cluster', 'revoke', 'target')).toEqual(['target-1', 'target-2', ':4']);
  });

  it('completes ManagedTokens in the namespace of -n, or else in the namespace of the context', async () => {
    expect(await complete('rotate', '-n', 'team-a', 'mt/c')).toEqual(['mt/ci', ':4']);
    expect(await complete('rotate', '')).toEqual(['mt/ci', 'mt/web', ':4']);
  });

  it('completes namespaces from the hub', async () => {
    expect(await complete('rotate', '-n', '')).toEqual(['team-a', 'team-b', ':4']);
  });

  it.each([
    ['a kubeconfig that does not exist', ['cluster', 'revoke', '--kubeconfig', '/none', '']],
    ['an unknown context', ['cluster', 'revoke', '--hub-context', 'unknown', '']],
  ])('prints no names and no error for %s', async (_, words) => {
    expect(await complete(...words)).toEqual([':4']);
  });
});

describe('purser __complete without a response from the hub', () => {
  it('ends after five seconds if the hub returns no names', async () => {
    const clock = new FakeClock();
    const words = ['cluster', 'revoke', '--hub-context', 'arn:aws:eks:us-east-1:1:cluster/two', ''];
    const result = runPurser(['__complete', ...words], { clock, env: { KUBECONFIG: kubeconfig } });
    await eventually(() => expect(requests).toContain('/silent/apis/registry.purser.dev/v1alpha1/clusters'));
    clock.advance(5_000);
    expect(await result).toMatchObject({ code: 0, output: ':4\n', stderr: '' });
  });
});

/** Completes a line in bash, with a stub of compopt that records its arguments. */
async function completeInBash(line: string): Promise<{ readonly replies: readonly string[]; readonly options: string }> {
  const script = `source <(purser completion bash)
    compopt() { options+="$* "; }
    COMP_LINE=$1 COMP_POINT=\${#1}
    _purser
    printf '%s\\n' "\${COMPREPLY[@]}"
    printf '%s' "$options" >&2`;
  const { code, output, stderr } = await run('bash', ['-c', script, 'bash', line], {
    PATH: `${folder}:${process.env['PATH']}`,
    KUBECONFIG: kubeconfig,
    NODE_OPTIONS: '',
  });
  expect(code).toBe(0);
  return { replies: output.split('\n').filter(Boolean), options: stderr.trim() };
}

describe('purser completion bash', () => {
  it.each([
    ['purser clu', ['cluster'], '+o default'],
    ['purser cluster ', expect.arrayContaining(['revoke']), '+o default'],
    ['purser cluster revoke tar', ['target-1', 'target-2'], '+o default'],
    ['purser run --log-level=d', ['debug'], '+o default'],
    ['purser run --ready-file ', [], ''],
    ['purser cluster revoke a --context arn:aws:eks:eu', ['eu-west-1:1:cluster/one'], '+o default'],
    ['purser cluster revoke a --context=arn:aws:eks:eu', ['eu-west-1:1:cluster/one'], '+o default'],
  ])('completes "%s" in bash', async (line, replies, options) => {
    expect(await completeInBash(line)).toEqual({ replies, options });
  });
});

describe('purser completion', () => {
  it.each(['zsh', 'fish'])('prints a script for %s that runs purser __complete', async (shell) => {
    const { code, output } = await runPurser(['completion', shell]);
    expect([code, output]).toEqual([0, expect.stringContaining('__complete')]);
  });

  it('rejects an unsupported shell', async () => {
    expect(await runPurser(['completion', 'csh'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Allowed choices are bash, zsh, fish'),
    });
  });
});
