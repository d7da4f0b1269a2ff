import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { toKubeconfig } from '../../../src/cli/kubeconfig/kubeconfig.ts';
import { type Kubeconfig, mergeText } from '../../../src/cli/kubeconfig/merge.ts';
import { newFolder } from '../../support/folders.ts';
import { AUDIENCE, CallerWorld } from '../facade/caller-world.ts';

let world: CallerWorld;
beforeEach(async () => {
  world = await CallerWorld.start();
});
afterEach(() => world.close());

const COMMAND = 'kubeconfig target-1 deploy/deployer';
const LAUNCHER = join(import.meta.dirname, '../../../bin/purser.cjs');

describe('purser kubeconfig', () => {
  it('prints a context that runs purser credential, without any secret', async () => {
    const { code, output, stderr } = await world.run(`${COMMAND} --duration 10m`);
    expect([code, stderr]).toEqual([0, '']);
    expect(output).not.toContain('caller-token');
    expect(parse(output)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'purser-target-1', cluster: { server: 'https://127.0.0.1:6443', 'certificate-authority-data': 'Y2E=' } }],
      users: [
        {
          name: 'purser-target-1',
          user: {
            exec: {
              apiVersion: 'client.authentication.k8s.io/v1',
              command: LAUNCHER,
              args: [
                'credential',
                'target-1',
                'deploy/deployer',
                `--audience=${AUDIENCE}`,
                '--duration=10m',
                `--kubeconfig=${world.kubeconfig}`,
                '--context=token',
              ],
              interactiveMode: 'Never',
              provideClusterInfo: false,
              installHint: expect.stringContaining('docs/cli.md'),
            },
          },
        },
      ],
      contexts: [{ name: 'target-1', context: { cluster: 'purser-target-1', user: 'purser-target-1', namespace: 'deploy' } }],
      'current-context': 'target-1',
    });
    expect(world.tokenRequests).toEqual([]);
  });

  it('writes the command purser if it is on the PATH, and otherwise the path of the running program', async () => {
    const folder = await newFolder();
    const npmFolder = join(folder, 'node_modules/.bin');
    const command = async () => {
      const { output } = await world.run(COMMAND, { env: { ...world.env, PATH: `/nonexistent:${npmFolder}:${folder}` } });
      return (parse(output) as { readonly users: readonly [{ readonly user: { readonly exec: { readonly command: string } } }] }).users[0]
        .user.exec.command;
    };
    // npx adds this folder to the PATH of its child process only.
    await mkdir(npmFolder, { recursive: true });
    await symlink(LAUNCHER, join(npmFolder, 'purser'));
    expect(await command()).toBe(LAUNCHER);
    await symlink(LAUNCHER, join(folder, 'purser'));
    expect(await command()).toBe('purser');
  });

  it('passes all options of the façade to purser credential, with absolute paths', async () => {
    const options = `--service-account team-a/ci --facade ${world.facade.url} --facade-ca ${world.authorityFile}`;
    const { output } = await world.run(`${COMMAND} --context certificate ${options} --facade-path orchestrator --purser-namespace system`);
    const { users } = parse(output) as {
      readonly users: readonly [{ readonly user: { readonly exec: { readonly args: readonly string[] } } }];
    };
    expect(users[0].user.exec.args.slice(5)).toEqual([
      '--context=certificate',
      '--service-account=team-a/ci',
      `--facade=${world.facade.url}`,
      `--facade-ca=${world.authorityFile}`,
      '--facade-path=orchestrator',
      '--purser-namespace=system',
    ]);
  });

  it('writes the values of --server, --name and --namespace into the context', async () => {
    const { output } = await world.run(`${COMMAND} --server https://elsewhere.example.com --name mine -n team-a`);
    expect(parse(output)).toMatchObject({
      clusters: [{ cluster: { server: 'https://elsewhere.example.com' } }],
      contexts: [{ name: 'mine', context: { namespace: 'team-a' } }],
    });
  });

  it.each([
    ['--server https://other.example.com', 'Set --server to one of https://127.0.0.1:6443, https://elsewhere.example.com'],
    ['--name token', 'token is the context of the hub. Set --name'],
  ])('rejects %s', async (options, text) => {
    expect(await world.run(`${COMMAND} ${options}`)).toMatchObject({ code: 2, output: '', stderr: expect.stringContaining(text) });
  });
});

describe('purser kubeconfig --merge', () => {
  it('adds the context to the kubeconfig, readable by its owner only, and keeps the current context', async () => {
    const before = parse(await readFile(world.kubeconfig, 'utf8')) as Kubeconfig;
    expect(await world.run(`${COMMAND} --merge`)).toMatchObject({
      code: 0,
      output: `Context target-1 written to ${world.kubeconfig}. To use the context, run: kubectl --context target-1 auth whoami\n`,
    });
    const after = parse(await readFile(world.kubeconfig, 'utf8')) as Kubeconfig;
    expect(after).toMatchObject({
      ...before,
      clusters: [...before.clusters, {}],
      users: [...before.users, {}],
      contexts: [...before.contexts, {}],
    });
    expect((await stat(world.kubeconfig)).mode & 0o777).toBe(0o600);
  });

  it('quotes names that kubectl would read as a boolean', async () => {
    await world.run(`${COMMAND} --merge --name y -n no`);
    const { contexts } = parse(await readFile(world.kubeconfig, 'utf8'), { version: '1.1' }) as Kubeconfig;
    expect(contexts.at(-1)).toMatchObject({ name: 'y', context: { namespace: 'no' } });
  });

  it('replaces a context that an earlier run wrote', async () => {
    await world.run(`${COMMAND} --merge`);
    await world.run(`${COMMAND} --merge --duration 10m`);
    const { users } = parse(await readFile(world.kubeconfig, 'utf8')) as Kubeconfig;
    const names = users.map(({ name }): string => name);
    expect(names.filter((name) => name === 'purser-target-1')).toHaveLength(1);
    expect(JSON.stringify(users)).toContain('--duration=10m');
  });

  it('keeps a symbolic link to the kubeconfig', async () => {
    const link = join(world.folder, 'link');
    await symlink(world.kubeconfig, link);
    const { output } = await world.run(`${COMMAND} --merge --kubeconfig ${link}`);
    expect(output).toContain(`--kubeconfig ${world.kubeconfig} --context`);
    expect(await readFile(world.kubeconfig, 'utf8')).toContain('purser-target-1');
    expect(await readFile(link, 'utf8')).toContain('purser-target-1');
  });

  it('fails while kubectl holds the lock of a symbolic link to the file, and leaves no lock', async () => {
    const link = join(world.folder, 'link');
    await symlink(world.kubeconfig, link);
    for (const lock of [`${link}.lock`, `${world.kubeconfig}.lock`]) {
      await writeFile(lock, '');
      expect(await world.run(`${COMMAND} --merge --kubeconfig ${link}`)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(`remove ${lock} if no program uses it`),
      });
      await rm(lock);
    }
    expect((await readdir(world.folder)).filter((name) => name.endsWith('.lock'))).toEqual([]);
  });

  it('keeps the current context of another KUBECONFIG file', async () => {
    const first = join(world.folder, 'first');
    await writeFile(first, 'apiVersion: v1\nkind: Config\n');
    const env = { ...world.env, KUBECONFIG: `${first}:${world.kubeconfig}` };
    expect(await world.run(`${COMMAND} --merge`, { env })).toMatchObject({ code: 0, output: expect.stringContaining(first) });
    expect(parse(await readFile(first, 'utf8'))).toMatchObject({ contexts: [{ name: 'target-1' }] });
    expect(parse(await readFile(first, 'utf8'))).not.toHaveProperty('current-context');
  });

  it('writes to the first KUBECONFIG file that exists', async () => {
    const env = { ...world.env, KUBECONFIG: `${join(world.folder, 'missing')}:${world.kubeconfig}` };
    expect(await world.run(`${COMMAND} --merge`, { env })).toMatchObject({ code: 0, output: expect.stringContaining(world.kubeconfig) });
    expect(await readdir(world.folder)).not.toContain('missing');
  });

  it('writes arguments that purser credential accepts if KUBECONFIG names several files', async () => {
    const first = join(world.folder, 'first');
    await writeFile(first, '{}');
    const printed = await world.run(COMMAND, { env: { ...world.env, KUBECONFIG: `${first}:${world.kubeconfig}` } });
    const { users } = parse(printed.output) as {
      readonly users: readonly [{ readonly user: { readonly exec: { readonly args: string[] } } }];
    };
    const credential = await world.run(users[0].user.exec.args.join(' '));
    expect(credential).toMatchObject({ code: 0, output: expect.stringContaining('ExecCredential') });
  });

  it('rejects a context name that another KUBECONFIG file already defines', async () => {
    const first = join(world.folder, 'first');
    await writeFile(first, '{}');
    const env = { ...world.env, KUBECONFIG: `${first}:${world.kubeconfig}` };
    expect(await world.run(`${COMMAND} --merge --name basic`, { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`${world.kubeconfig} has a context basic that purser did not write. Set --name`),
    });
    expect(await readFile(first, 'utf8')).toBe('{}');
  });

  it('fails while kubectl holds the lock of the file, and leaves the file unchanged', async () => {
    const before = await readFile(world.kubeconfig, 'utf8');
    await writeFile(`${world.kubeconfig}.lock`, '');
    expect(await world.run(`${COMMAND} --merge`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is locked by another program'),
    });
    expect(await readFile(world.kubeconfig, 'utf8')).toBe(before);
  });
});

describe('mergeText', () => {
  const wanted = { cluster: 'target-1', account: 'deploy/deployer', audience: ['a'] };
  const kubeconfig = toKubeconfig(wanted, { name: 'target-1', command: 'purser', server: 'https://target-1', caBundle: undefined });
  const file = (text: string) => ({ path: 'config', text });

  it('keeps comments, order and unknown fields', () => {
    const text =
      '# mine\napiVersion: v1\nkind: Config\nextra: {a: 1} # kept\nusers:\n  # a colleague\n  - name: other\n    user: {token: x}\ncontexts: []\ncurrent-context: other\n';
    const merged = mergeText(file(text), kubeconfig);
    for (const line of ['# mine', 'extra: { a: 1 } # kept', '  # a colleague', 'current-context: other']) expect(merged).toContain(line);
    expect(parse(merged)).toMatchObject({ users: [{ name: 'other' }, { name: 'purser-target-1' }], contexts: [{ name: 'target-1' }] });
  });

  it('keeps booleans that only YAML 1.1 has', () => {
    const text = 'clusters:\n  - name: other\n    cluster: {server: https://a, insecure-skip-tls-verify: yes}\n';
    expect(mergeText(file(text), kubeconfig)).toContain('insecure-skip-tls-verify: yes }');
  });

  it('writes a complete kubeconfig into an empty file, with its context as the current one', () => {
    expect(parse(mergeText(file(''), kubeconfig))).toEqual(kubeconfig);
    expect(parse(mergeText(file('clusters: null\nusers: null\n'), kubeconfig))).toEqual(kubeconfig);
  });

  it.each([
    ['contexts: [{name: target-1, context: {cluster: c, user: admin}}]', 'has a context target-1 that purser did not write. Set --name'],
    ['users: [{name: purser-target-1, user: {token: x}}]', 'has a user purser-target-1 that purser did not write. Set --name'],
    ['users: [{name: purser-target-1, user: {exec: {command: purser, args: [token]}}}]', 'has a user purser-target-1'],
    [
      'contexts: [{name: target-1, context: {cluster: c, user: purser-target-1}}]',
      'has a context target-1 that purser did not write. Set --name',
    ],
    [
      'clusters: [{name: purser-target-1, cluster: {server: a}}]\ncontexts: [{name: mine, context: {cluster: purser-target-1, user: alice}}]',
      'has a cluster purser-target-1 that purser did not write. Set --name',
    ],
    ['all: [&c {name: target-1, context: {user: admin}}]\ncontexts: [*c]', 'has a context target-1 that purser did not write'],
    ['all: &c {name: target-1, context: {user: admin}}\ncontexts: [{<<: *c}]', 'has a context target-1 that purser did not write'],
    [
      'all: &u [{name: admin}, {name: bob}]\nusers: *u',
      'the field users in config is a YAML alias. Replace the alias with a copy of the list',
    ],
    ['users: {admin: {}}', 'config is not a kubeconfig: users is not a list. Correct the file'],
    ['users: text', 'config is not a kubeconfig: users is not a list. Correct the file'],
    ['- a list', 'config is not a kubeconfig: the content is not a mapping. Correct the file'],
    ['a: 1\na: 2', 'config is not a kubeconfig: Map keys must be unique at line 2, column 1. Correct the file'],
    [
      'a: [',
      'config is not a kubeconfig: Flow sequence in block collection must be sufficiently indented and end with a ] at line 1, column 5. Correct the file',
    ],
  ])('rejects the file %s', (text, message) => {
    expect(() => mergeText(file(text), kubeconfig)).toThrow(message);
  });
});
