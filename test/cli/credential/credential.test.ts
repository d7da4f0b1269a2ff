import { chmod, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { toEntry } from '../../../src/cli/credential/credential.ts';
import { AUDIENCE, CallerWorld } from '../facade/caller-world.ts';

let world: CallerWorld;
beforeEach(async () => {
  world = await CallerWorld.start();
});
afterEach(() => world.close());

const COMMAND = `credential target-1 deploy/deployer --audience=${AUDIENCE}`;
const MINUTE_MS = 60_000;
const folder = () => join(world.folder, 'cache', 'purser', 'credentials');
const files = async (suffix: string) =>
  (await readdir(folder())).filter((name) => name.endsWith(suffix)).map((name) => join(folder(), name));

/** Runs the command and returns the status of the credential. */
async function credential(line = COMMAND, env = world.env): Promise<{ readonly token: string; readonly expirationTimestamp: string }> {
  const { code, output, stderr } = await world.run(line, { env });
  expect([code, stderr]).toEqual([0, '']);
  return (JSON.parse(output) as { readonly status: { readonly token: string; readonly expirationTimestamp: string } }).status;
}

describe('purser credential', () => {
  it('prints an ExecCredential in the version that the client requests', async () => {
    const info = (version: string) => ({
      ...world.env,
      KUBERNETES_EXEC_INFO: JSON.stringify({ apiVersion: `client.authentication.k8s.io/${version}` }),
    });
    const { output } = await world.run(COMMAND);
    expect(JSON.parse(output)).toEqual({
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      spec: { interactive: false },
      // One minute before the actual expiry.
      status: { expirationTimestamp: '2026-03-01T12:59:00Z', token: expect.any(String) },
    });
    const beta = await world.run(COMMAND, { env: info('v1beta1') });
    expect(JSON.parse(beta.output)).toMatchObject({ apiVersion: 'client.authentication.k8s.io/v1beta1' });
    expect(await world.run(COMMAND, { env: info('v1alpha1') })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('set the apiVersion of exec to client.authentication.k8s.io/v1'),
    });
  });

  it('returns the cached token for 80% of its lifetime', async () => {
    const first = await credential();
    world.clock.advance(5_000);
    expect(await credential()).toEqual(first);
    world.clock.advance(48 * MINUTE_MS - 5_001);
    expect(await credential()).toEqual(first);
    world.clock.advance(1);
    expect(await credential()).not.toEqual(first);
    expect(world.issued).toBe(2);
  });

  it('requests a token if a client runs the plugin again, because the cluster has probably rejected the cached token', async () => {
    const client = { ...world.env, KUBERNETES_EXEC_INFO: '{}' };
    const first = await credential(COMMAND, client);
    world.clock.advance(9_000);
    expect(await credential(COMMAND, client)).toEqual(first);
    world.clock.advance(2_000);
    const second = await credential(COMMAND, client);
    expect(second).not.toEqual(first);
    // A script sets no KUBERNETES_EXEC_INFO, so its repeated calls return the cached token.
    world.clock.advance(MINUTE_MS);
    expect([await credential(), await credential()]).toEqual([second, second]);
  });

  it('requests a token with --force-refresh, and caches it', async () => {
    const first = await credential();
    const second = await credential(`${COMMAND} --force-refresh`);
    expect(second).not.toEqual(first);
    expect(await credential()).toEqual(second);
  });

  it('requests a token after the clock was set back', async () => {
    await credential();
    world.clock.set(world.clock.now() - MINUTE_MS);
    await credential();
    expect(world.issued).toBe(2);
  });

  it.each([
    ['another audience', 'credential target-1 deploy/deployer --audience=b'],
    ['another service account', `credential target-1 deploy/other --audience=${AUDIENCE}`],
    ['another duration', `${COMMAND} --duration=10m`],
    ['another context', `${COMMAND} --context=token`],
    ['another caller', `${COMMAND} --service-account=team-a/ci`],
  ])('keeps a separate token for %s', async (_, line) => {
    const first = await credential();
    const other = await credential(line);
    expect(other.token).not.toBe(first.token);
    expect([await credential(), await credential(line)]).toEqual([first, other]);
    expect(world.issued).toBe(2);
  });

  it('requests a token after the kubeconfig changed', async () => {
    await credential();
    await world.writeKubeconfig('second-token');
    await credential();
    expect(world.tokenRequests.map(({ headers }) => headers.authorization)).toEqual(['Bearer caller-token', 'Bearer second-token']);
  });

  it('removes expired tokens of other requests', async () => {
    await credential(`${COMMAND} --duration=10m`, { ...world.env, KUBERNETES_EXEC_INFO: '{}' });
    expect(await readdir(folder())).toHaveLength(2);
    await writeFile(join(folder(), 'key.json.1-draft'), '');
    world.clock.advance(11 * MINUTE_MS);
    await credential();
    expect(await readdir(folder())).toHaveLength(1);
  });

  it('reports a failed request, and requests a token again in the next run', async () => {
    world.rejection = (_, reply) => reply.json(503, { kind: 'Status', status: 'Failure', message: 'unreachable', code: 503 });
    expect(await world.run(COMMAND)).toMatchObject({ code: 1, output: '', stderr: expect.stringContaining('unreachable') });
    world.rejection = undefined;
    world.clock.advance(1);
    await credential();
    expect(await files('.lock')).toEqual([]);
  });
});

describe('cache of purser credential', () => {
  it('stores the cache so that only its owner can read it', async () => {
    await credential();
    expect((await stat(folder())).mode & 0o777).toBe(0o700);
    for (const name of await readdir(folder())) expect((await stat(join(folder(), name))).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['damaged', 'is damaged', async (file: string) => writeFile(file, '{"token":')],
    ['empty', 'is damaged', async (file: string) => writeFile(file, '')],
    [
      'damaged in its expiry',
      'is damaged',
      async (file: string) => writeFile(file, (await readFile(file, 'utf8')).replace(/"expiresAt":\d+/, '"expiresAt":1e300')),
    ],
    ['readable by other users', 'other users have access', async (file: string) => chmod(file, 0o640)],
    [
      'a symbolic link',
      'is a symbolic link',
      async (file: string) => {
        await writeFile(`${file}.moved`, await readFile(file), { mode: 0o600 });
        await rm(file);
        await symlink(`${file}.moved`, file);
      },
    ],
  ])('warns once and does not use a cache file that is %s', async (_, text, change) => {
    await credential();
    const [file = ''] = await files('.json');
    await change(file);
    const { code, stderr } = await world.run(COMMAND);
    expect([code, world.issued]).toEqual([0, 2]);
    expect(stderr.match(/\n/g)).toHaveLength(1);
    expect(stderr).toContain(text);
  });

  it('returns a token if the cache cannot be written', async () => {
    await credential();
    const [file = ''] = await files('.json');
    await rm(file);
    await mkdir(file, { mode: 0o700 });
    expect(await world.run(COMMAND)).toMatchObject({
      code: 0,
      output: expect.stringContaining('ExecCredential'),
      stderr: expect.stringMatching(/^purser: not using .*: it is not a file\npurser: cannot write to the cache .*\n$/),
    });
  });

  it('replaces a cache file that other users can read', async () => {
    await credential();
    const [file = ''] = await files('.json');
    await writeFile(file, 'x');
    await chmod(file, 0o644);
    await world.run(COMMAND);
    await credential();
    expect(world.issued).toBe(2);
  });

  it.each([
    ['other users have access to it', () => chmod(folder(), 0o755)],
    [
      'it is a symbolic link',
      async () => {
        const other = join(world.folder, 'other');
        await rm(folder(), { recursive: true });
        await mkdir(other, { mode: 0o700 });
        await symlink(other, folder());
      },
    ],
    [
      'EEXIST',
      async () => {
        await rm(folder(), { recursive: true });
        await writeFile(folder(), '');
      },
    ],
  ])('does not use the cache if the folder has the problem: %s', async (problem, change) => {
    await credential();
    await change();
    const before = await stat(folder());
    expect(await world.run(COMMAND)).toMatchObject({ code: 0, stderr: expect.stringContaining(problem) });
    expect(world.issued).toBe(2);
    expect((await stat(folder())).mtimeMs).toBe(before.mtimeMs);
  });

  it('removes the cache with purser credential clean', async () => {
    await credential();
    expect(await world.run('credential clean')).toMatchObject({ code: 0, output: `Removed 1 cached credential from ${folder()}.\n` });
    expect(await readdir(folder())).toEqual([]);
    await mkdir(join(folder(), 'kept.json'));
    expect(await world.run('credential clean')).toMatchObject({ output: expect.stringContaining('Removed 0 cached credentials') });
  });
});

describe('toEntry', () => {
  const status = { token: 'opaque', expirationTimestamp: '2026-03-01T13:00:00Z' };
  const at = Date.parse('2026-03-01T12:00:00Z');

  it('measures the lifetime from the request by the local clock', () => {
    const issued = { request: { spec: { audiences: [] }, status }, sentAt: at - 5 * MINUTE_MS, serverAt: at };
    expect(toEntry(issued)).toEqual({ token: 'opaque', issuedAt: at - 5 * MINUTE_MS, expiresAt: at + 55 * MINUTE_MS });
  });

  it('throws for a token that has expired', () => {
    expect(() => toEntry({ request: { spec: { audiences: [] }, status }, sentAt: at, serverAt: at + 61 * MINUTE_MS })).toThrow(
      'has expired',
    );
  });
});

describe('purser credential with clocks that differ', () => {
  it.each([-30, 30])('caches a token for 80% of its lifetime if the clock of the cluster is %i minutes ahead', async (minutes) => {
    world.skewMs = minutes * MINUTE_MS;
    const first = await credential();
    expect(first.expirationTimestamp).toBe('2026-03-01T12:59:00Z');
    world.clock.advance(48 * MINUTE_MS);
    expect(await credential()).not.toEqual(first);
  });
});
