import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { CommandError } from '../../src/cli/command.ts';
import { OPTIONS } from '../../src/config/options.ts';
import { newFolder } from '../support/folders.ts';
import { runPurser } from '../support/run-purser.ts';

const runLine = (line: string) => runPurser(line.split(' ').filter(Boolean));

describe('purser', () => {
  it.each([
    ['', 'Usage: purser COMMAND [options]'],
    ['--help', 'Usage: purser COMMAND [options]'],
    ['help', 'Usage: purser COMMAND [options]'],
    ['help run', 'Usage: purser run [options]'],
    ['run --help', 'Usage: purser run [options]'],
    ['run -h', 'Usage: purser run [options]'],
    ['help print', 'Usage: purser print COMMAND [options]'],
    ['help print hub-rbac', 'Usage: purser print hub-rbac [options]'],
    ['print target-rbac --help', 'Usage: purser print target-rbac [options]'],
    ['help cluster', 'Usage: purser cluster COMMAND [options]'],
    ['status --help', 'Usage: purser status [mt/NAME] [options]'],
    ['suspend --help', 'Usage: purser suspend mt/NAME [options]'],
    ['cluster revoke --help', 'Usage: purser cluster revoke NAME [options]'],
  ])('prints help for the arguments "%s"', async (line, usage) => {
    const { code, output, stderr } = await runLine(line);
    expect([code, output.split('\n')[0], stderr]).toEqual([0, usage, '']);
  });

  it.each(['--version', 'version', 'run --version'])('prints the version of Purser for "%s"', async (line) => {
    expect(await runLine(line)).toEqual({ code: 0, output: expect.stringMatching(/^purser \d+\.\d+\.\d+\n$/), stderr: '' });
  });

  it('prints the versions of Purser and Node.js as JSON and YAML', async () => {
    const { output } = await runLine('version -o json');
    expect(JSON.parse(output)).toEqual({ version: expect.stringMatching(/^\d/), node: process.version });
    expect((await runLine('version --output=yaml')).output).toBe(`version: ${JSON.parse(output).version}\nnode: ${process.version}\n`);
  });

  it.each([
    ['rnu', "unknown command 'rnu'; did you mean run? (for help, run purser --help)"],
    ['verison', "unknown command 'verison'; did you mean version? (for help, run purser --help)"],
    ['everything', "unknown command 'everything' (for help, run purser --help)"],
    ['rnu --help', "unknown command 'rnu'; did you mean run? (for help, run purser --help)"],
    ['cluster revok --help', "unknown command 'revok'; did you mean revoke? (for help, run purser cluster --help)"],
    ['--nope', "unknown option '--nope' (for help, run purser --help)"],
    ['dev --nope', "unknown option '--nope' (for help, run purser dev --help)"],
    ['--context hub status', '--context is an option of a command. Write it after the command name (for help, run purser --help)'],
    ['-n team-a status', '-n is an option of a command. Write it after the command name (for help, run purser --help)'],
    [
      'cluster --context hub list',
      '--context is an option of a command. Write it after the command name (for help, run purser cluster --help)',
    ],
    ['status mt/ci -A', '-A selects all namespaces, but mt/NAME is in one namespace. Select that namespace with -n'],
    ['status --target-context target-1', '--target-context applies only to one ManagedToken. Add the ManagedToken as mt/NAME'],
    ['help rnu', "unknown command 'rnu'; did you mean run? (for help, run purser --help)"],
    ['help cluster revok', "unknown command 'revok'; did you mean revoke? (for help, run purser cluster --help)"],
    ['cluster revok a', "unknown command 'revok'; did you mean revoke? (for help, run purser cluster --help)"],
    ['cluster revoke', "missing required argument 'NAME' (for help, run purser cluster revoke --help)"],
    ['cluster revoke a --kontext b', "unknown option '--kontext'; did you mean --context? (for help, run purser cluster revoke --help)"],
    ['cluster revoke a --context', '--context needs a value: --context CONTEXT (for help, run purser cluster revoke --help)'],
    ['cluster revoke a --context --timeout 1s', '--context needs a value: --context CONTEXT (for help, run purser cluster revoke --help)'],
    ['cluster revoke a --timeout x', '--timeout must be a duration such as 2m, not "x"'],
    ['print hub-rbac', "required option '--service-account NAME' not specified (for help, run purser print hub-rbac --help)"],
    [
      'print hub-rbac --service-acount a',
      "unknown option '--service-acount'; did you mean --service-account? (for help, run purser print hub-rbac --help)",
    ],
    ['status foo/bar', '"foo/bar" is not the name of a ManagedToken. Write mt/NAME, and select its namespace with -n'],
    ['rotate mt/', '"mt/" is not the name of a ManagedToken. Write mt/NAME, and select its namespace with -n'],
    ['rotate mt/..', '"mt/.." is not the name of a ManagedToken. Write mt/NAME, and select its namespace with -n'],
    ...['add --context eu', 'show', 'renew', 'revoke', 'remove'].map((command) => [
      `cluster ${command} Prod/eu`,
      'NAME must be a name: at most 253 lowercase letters, digits, dots and hyphens, with a letter or digit at both ends, not "Prod/eu"',
    ]),
    ['rotate', "missing required argument 'mt/NAME' (for help, run purser rotate --help)"],
    ['status -o wide', '--output must be one of json, yaml, not "wide"'],
    ['version -o wide', '--output must be one of json, yaml, not "wide"'],
    ['version -o', '-o needs a value: -o FORMAT (for help, run purser version --help)'],
  ])('exits with 2 and one line for "%s"', async (line, problem) => {
    expect(await runLine(line)).toEqual({ code: 2, output: '', stderr: `purser: ${problem}\n` });
  });

  it('exits with 1 and prints other errors on one line, without tokens or control characters', async () => {
    const token = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';
    const result = await runPurser(['run'], {}, { run: () => Promise.reject(new Error(`a\n \u001B[31mb ${token}`)) });
    expect(result).toMatchObject({ code: 1, output: '', stderr: 'purser: a [31mb [redacted]\n' });
  });

  it.each([
    ['with a code', new CommandError('not ready', 3), 3, 'purser: not ready\n'],
    ['without a text', new CommandError(''), 1, ''],
  ])('exits with the code of a command that fails %s', async (_, error, code, stderr) => {
    expect(await runPurser(['run'], {}, { run: () => Promise.reject(error) })).toMatchObject({ code, stderr });
  });

  it.each(['cluster', 'print'])('exits with 2 and prints help to standard error for "%s" without a command', async (group) => {
    const { code, output, stderr } = await runLine(group);
    expect([code, output, stderr.split('\n')[0]]).toEqual([2, '', `Usage: purser ${group} COMMAND [options]`]);
  });

  it('exits with 2 and the cause for a kubeconfig that cannot be read', async () => {
    const { code, stderr } = await runPurser(['cluster', 'revoke', 'a', '--kubeconfig', '/none/config']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^purser: cannot use the kubeconfig \/none\/config: ENOENT.*\n$/)]);
  });
});

/** Writes a kubeconfig whose hub refuses connections, and returns its path. */
async function writeUnreachableHub(): Promise<string> {
  const path = join(await newFolder(), 'kubeconfig');
  const cluster = { name: 'hub', cluster: { server: 'https://127.0.0.1:1' } };
  const context = { name: 'hub', context: { cluster: 'hub', user: '' } };
  await writeFile(path, JSON.stringify({ clusters: [cluster], contexts: [context], 'current-context': 'hub' }));
  return path;
}

describe('purser with a hub that does not respond', () => {
  it.each(['cluster list', 'status', 'status mt/ci', 'rotate mt/ci', 'suspend mt/ci'])(
    'names the cause and remedy for "%s"',
    async (line) => {
      const { code, stderr } = await runPurser([...line.split(' '), '--kubeconfig', await writeUnreachableHub()]);
      const problem = 'cannot connect to the hub at https://127.0.0.1:1 (ECONNREFUSED)';
      expect([code, stderr]).toEqual([1, `purser: ${problem}. Check the network and the address of the current context\n`]);
    },
  );
});

describe('purser with an interrupted command', () => {
  it('prints one line for an interrupted command', async () => {
    const result = await runPurser(['cluster', 'list', '--kubeconfig', await writeUnreachableHub()], { signal: AbortSignal.abort() });
    expect(result).toEqual({ code: 1, output: '', stderr: 'purser: interrupted\n' });
  });
});

describe('purser run and purser dev', () => {
  it.each(['run', 'dev'] as const)('starts the program for %s', async (program) => {
    expect(await runPurser([program, '--namespace', 'tokens'])).toMatchObject({ code: 0, program, config: { namespace: 'tokens' } });
  });

  it.each([
    ['dev', 'Starting Purser with a hub and 1 target cluster on this machine…\n\n'],
    ['dev --clusters 2', 'Starting Purser with a hub and 2 target clusters on this machine…\n\n'],
    ['dev --clusters 0', 'Starting Purser with a hub on this machine…\n\n'],
    ['run', ''],
  ])('prints a message before it starts the program for "%s"', async (line, text) => {
    expect((await runLine(line)).output).toBe(text);
  });

  it('lists all options with their defaults', async () => {
    const { output } = await runLine('help dev');
    expect(output).toContain(
      '  --data-dir DIR                      directory for all data of the local run, reused on restart (default .purser)\n',
    );
    expect(output.match(/^ {2}--[a-z0-9-]+/gm)).toEqual(Object.keys(OPTIONS).map((name) => `  --${name}`));
  });

  it('omits options of the local run from the help of run', async () => {
    const { output } = await runLine('help run');
    expect(output).toContain('--metrics-port PORT');
    expect(output).not.toContain('--data-dir');
  });

  it('wraps the help to the width of the terminal', async () => {
    const { output } = await runPurser(['help', 'dev'], { columns: 90 });
    const [, options = ''] = output.split('Options:\n');
    expect((options.split('\n\n')[0] ?? '').split('\n').filter((line) => line.length > 90)).toEqual([]);
  });
});
