// Builds the image with Docker if its daemon runs, otherwise step by step on this machine, and runs it.

import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, copyFile, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { buildStages, environmentOf, parseDockerfile, type Stage, wordsOf } from '../support/dockerfile.ts';
import { newFolder } from '../support/folders.ts';
import { startProgram } from '../support/processes.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { readText } from '../support/repository.ts';
import { type RunResult, run } from '../support/run.ts';
import { waitUntil } from './deploy-world.ts';

jest.setTimeout(600_000);

const REPOSITORY = join(import.meta.dirname, '../..');
const file = parseDockerfile(readText('Dockerfile'));
const final = file.stages.at(-1) as Stage;
const hasDocker = spawnSync('docker', ['info']).status === 0;
/** Command that enters the image. Users other than root use a user namespace. */
const ENTER = process.getuid?.() === 0 ? ['chroot', '--userspec=65532:65532'] : ['unshare', '--map-root-user', 'chroot'];
let purser: (...args: readonly string[]) => Promise<RunResult>;
/** Arguments of the command that runs Purser, for processes that keep running. */
let command: readonly string[];
/** Runs JavaScript code in place of Purser. */
let runInNode: (program: string) => Promise<RunResult>;
let root: string;
let paths: readonly string[];
let bytes: number;

/** Environment of the image, without the options of the test run. */
const IMAGE_ENV = { NODE_OPTIONS: '', NODE_EXTRA_CA_CERTS: '', ...environmentOf(final) };

beforeAll(async () => {
  const folder = await newFolder();
  root = hasDocker ? await buildWithDocker(folder) : await buildStages(file, REPOSITORY, folder);
  paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
  bytes = paths.map((path) => statSync(join(root, path))).reduce((sum, { size }) => sum + size, 0);
  const [node = '', ...words] = wordsOf(final, 'ENTRYPOINT');
  const inImage = words.map((word) => (word.endsWith('.js') ? `/purser/${word}` : word));
  const [program = '', ...flags] = ENTER;
  command = [...flags, root, node, ...inImage];
  const enter = async (args: readonly string[]) => {
    const { stderr, ...result } = await run(program, args, IMAGE_ENV);
    // LD_PRELOAD also affects the program that enters the image: it runs on this machine, which does not have the library.
    return { ...result, stderr: stderr.replace(/^ERROR: ld\.so: object .* from LD_PRELOAD cannot be preloaded.*\n/gm, '') };
  };
  runInNode = (code) => enter([...command.slice(0, -1), '--eval', code]);
  purser = (...args) => enter([...command, ...args]);
});

describe('image', () => {
  it('contains Node.js and Purser, and no shell, package manager or compiler', () => {
    const programs = paths.filter((path) => /(^|\/)(sh|bash|npm|npx|tsc|apt|dpkg|perl|python3?|go)$/.test(path));
    const unwanted = paths.filter((path) =>
      /^purser\/(dist\/(apiserver|dev)|node_modules\/(typescript|jest|node-linux-\w+|@jest|@types|ws|openid-client|tar-fs|js-yaml))(\/|\.js|$)/.test(
        path,
      ),
    );

    expect([programs, unwanted]).toEqual([[], []]);
    expect(paths).toEqual(expect.arrayContaining(['usr/bin/node', 'purser/dist/src/main.js']));
    expect(bytes / 1e6).toBeLessThan(170);
  });

  it('contains no tests, examples or builds for other platforms of packages', () => {
    expect(paths.filter((path) => /\/(tests?|bench\w*|examples|docs|\.github|browser|esm5|bundles|prebuilds)$/.test(path))).toEqual([]);
  });

  it('permits Node.js to read the metrics of its process, and no other file through /proc', async () => {
    const read = (path: string) => `try { require('node:fs').statSync('/proc/self/${path}') } catch ({ code }) { console.log(code) }`;
    const codes = async (...names: readonly string[]) => (await runInNode(names.map(read).join('\n'))).output.trim().split('\n');
    expect(await codes('stat', 'status', 'limits', 'fd')).not.toContain('ERR_ACCESS_DENIED');
    const denied = ['root/etc/passwd', 'environ', 'mem', 'cwd/etc/passwd'];
    expect(await codes(...denied)).toEqual(denied.map(() => 'ERR_ACCESS_DENIED'));
  });

  it('allocates memory with jemalloc, which accepts its settings', async () => {
    const { output, stderr } = await runInNode(`console.log(process.report.getReport().sharedObjects.join('\\n'))`);
    expect(output.split('\n')).toContain(environmentOf(final)['LD_PRELOAD']);
    expect(stderr).toBe('');
  });

  it('contains one module of client-node', () => {
    const modules = paths.filter((path) => /^purser\/node_modules\/@kubernetes\/.*\.js$/.test(path));
    expect(modules).toEqual(['purser/node_modules/@kubernetes/client-node/dist/config_types.js']);
  });

  it('runs the entry point without a shell and without privileges', async () => {
    expect(await purser('run', '--help')).toMatchObject({ code: 0, output: expect.stringContaining('Usage: purser run') });
  });

  it.each([
    ['target-rbac', 'deploy/target/access.yaml'],
    ['registration', 'deploy/samples/cluster.yaml'],
  ])('prints the manifests of %s', async (manifest, path) => {
    expect(await purser('print', manifest)).toMatchObject({ code: 0, output: expect.stringContaining(readText(path)) });
  });

  it('installs the custom resources on a hub, acquires leadership, and stops cleanly', async () => {
    const hub = await startRealCluster();
    try {
      const kubeconfig = join(root, 'etc/purser/kubeconfig');
      await mkdir(dirname(kubeconfig), { recursive: true });
      await copyFile(await hub.kubeconfig('admin'), kubeconfig);
      await chmod(kubeconfig, 0o644);
      const args = ['run', '--install-crds', '--namespace=default', '--bind-address=127.0.0.1', '--facade-port=0', '--metrics-port=0'];
      const env = { ...process.env, ...IMAGE_ENV, KUBECONFIG: '/etc/purser/kubeconfig' };
      const program = await startProgram(ENTER[0] ?? '', [...command, ...args], join(hub.folder, 'image.log'), { env });
      await waitUntil(async () => (await program.output()).includes('acquired leadership'));
      await program.stop();

      expect(await program.output()).not.toMatch(/"level":"(warn|error|fatal)"/);
    } finally {
      await hub.stop();
    }
  });

  it('contains the licenses of all packages', () => {
    const packages = paths
      .filter((path) => /^purser\/node_modules\/(@[^/]+\/)?[^/]+\/package\.json$/.test(path))
      .map((path) => dirname(path));
    const licensed = new Set(paths.filter((path) => /\/(licen[cs]e|copying)[^/]*$/i.test(path)).map((path) => dirname(path)));
    const sources = packages.map((path) => join(REPOSITORY, path.slice('purser/'.length)));
    const lacksLicense = (path: string, index: number) =>
      !licensed.has(path) && readdirSync(sources[index] as string).some((name) => /^licen[cs]e/i.test(name));

    expect(packages.length).toBeGreaterThan(20);
    expect(packages.filter(lacksLicense)).toEqual([]);
  });

  it.each([
    ['read files outside its folders', `require('node:fs').readFileSync('/etc/passwd')`, 'ERR_ACCESS_DENIED'],
    ['write a file', `require('node:fs').writeFileSync('/purser/new', '')`, 'ERR_ACCESS_DENIED'],
    ['start a program', `require('node:child_process').spawnSync('/usr/bin/node')`, 'ERR_ACCESS_DENIED'],
    ['start a thread', `new (require('node:worker_threads').Worker)('1', { eval: true })`, 'ERR_ACCESS_DENIED'],
  ])('denies Node.js permission to %s', async (_, program, code) => {
    expect(readFileSync(join(root, 'etc/passwd'), 'utf8')).toContain('purser');
    const { stderr } = await runInNode(program);
    expect(stderr).toContain(`code: '${code}'`);
  });

  it('allows Node.js to read its own and mounted files', async () => {
    const files = ['/purser/package.json', '/etc/hosts', '/etc/purser/tls.crt', '/var/run/secrets/kubernetes.io/serviceaccount/token'];
    for (const mounted of files.slice(1)) {
      await mkdir(join(root, dirname(mounted)), { recursive: true });
      await writeFile(join(root, mounted), 'mounted');
    }
    const program = `for (const file of ${JSON.stringify(files)}) require('node:fs').readFileSync(file)`;
    expect(await runInNode(program)).toMatchObject({ code: 0, stderr: '' });
  });

  it('reports an invalid option and exits with code 2', async () => {
    expect(await purser('run', '--replicas=2')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("unknown option '--replicas'"),
    });
  });
});

/** Builds the image with Docker, and exports its file system into a folder. */
async function buildWithDocker(folder: string): Promise<string> {
  const exported = join(folder, 'root');
  const script = `docker build -q -t purser-test ${REPOSITORY} && docker create --name purser-test-$$ purser-test && mkdir ${exported} && docker export purser-test-$$ | tar -x -C ${exported}; code=$?; docker rm purser-test-$$; exit $code`;
  const { code, stderr } = await run('sh', ['-c', script]);
  if (code !== 0) throw new Error(stderr);
  return exported;
}
