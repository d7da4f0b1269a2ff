// `npm run kube:build`: builds the programs of a real cluster from the Go modules that go.mod and go.sum pin beside this file.
// To pin another Kubernetes, change its version and that of the staging modules in go.mod, and run `go mod tidy` here.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { BINARY_NAMES, cacheFolder, findBinary, kubernetesVersion, MODULE_FOLDER } from '../support/kube-binaries.ts';

const PACKAGES: Readonly<Record<string, string>> = {
  [BINARY_NAMES.etcd]: 'go.etcd.io/etcd/server/v3',
  [BINARY_NAMES.kubectl]: 'k8s.io/kubernetes/cmd/kubectl',
  [BINARY_NAMES.kubeApiserver]: 'k8s.io/kubernetes/cmd/kube-apiserver',
  [BINARY_NAMES.kubeControllerManager]: 'k8s.io/kubernetes/cmd/kube-controller-manager',
};

const PROGRESS_MS = 15_000;

try {
  await buildMissing();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function buildMissing(): Promise<void> {
  const names = Object.keys(PACKAGES);
  const missing = names.filter((name) => findBinary(name) === undefined);
  for (const name of names.filter((other) => !missing.includes(other))) console.log(`${name}: ${findBinary(name)}`);
  if (missing.length === 0) return;
  const environment = goEnvironment(await requiredGo());
  await mkdir(cacheFolder(), { recursive: true });
  console.log(`Building ${missing.join(', ')}: several minutes the first time.`);
  for (const name of missing) await build(name, environment);
}

async function requiredGo(): Promise<string> {
  return /^go (\d+\.\d+)/m.exec(await readFile(join(MODULE_FOLDER, 'go.mod'), 'utf8'))?.[1] ?? '';
}

/** The environment in which `go` is new enough: an older one fetches the release that go.mod asks for, unless it is very old. */
function goEnvironment(required: string): NodeJS.ProcessEnv {
  const environment = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const candidates = [environment, { ...environment, GOTOOLCHAIN: 'auto' }];
  const fits = candidates.find((candidate) => isAtLeast(goVersion(candidate), required));
  if (fits) return fits;
  const found = goVersion({ ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' }, '/');
  throw new Error(
    `Go ${required} or newer is needed to build Kubernetes, and ${found === undefined ? 'there is no `go` on the PATH' : `this is Go ${found}`}. ` +
      'Install it (package golang-go of a recent distribution, or a release of the Go project) and run `npm run kube:build` again; ' +
      `or set KUBEBUILDER_ASSETS to a folder with ${Object.keys(PACKAGES).join(', ')}.`,
  );
}

function goVersion(env: NodeJS.ProcessEnv, cwd = MODULE_FOLDER): string | undefined {
  const { stdout } = spawnSync('go', ['version'], { cwd, env, encoding: 'utf8' });
  return /go version go(\S+)/.exec(stdout ?? '')?.[1];
}

function isAtLeast(version: string | undefined, required: string): boolean {
  if (version === undefined) return false;
  const [major, minor] = version.split('.').map(Number.parseFloat) as [number, number];
  const [requiredMajor, requiredMinor] = required.split('.').map(Number) as [number, number];
  return major > requiredMajor || (major === requiredMajor && minor >= requiredMinor);
}

/** Builds under a name of its own and renames: whoever builds or starts the same program meanwhile never sees half of it. */
async function build(name: string, env: NodeJS.ProcessEnv): Promise<void> {
  const target = join(cacheFolder(), name);
  const draft = join(cacheFolder(), `.${name}.${process.pid}`);
  const startedAt = performance.now();
  const elapsed = () => `${Math.round((performance.now() - startedAt) / 1_000)} s`;
  const progress = setInterval(() => console.log(`${name}: ${elapsed()} …`), PROGRESS_MS);
  try {
    await runGo(['build', '-mod=readonly', '-trimpath', '-ldflags', linkerFlags(), '-o', draft, PACKAGES[name] ?? ''], env);
    await rename(draft, target);
    console.log(`${name}: ${target}, built in ${elapsed()}`);
  } finally {
    clearInterval(progress);
    await rm(draft, { force: true });
  }
}

/** Without these, /version would say that nobody knows. */
function linkerFlags(): string {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(kubernetesVersion()) ?? [];
  const values = { gitVersion: kubernetesVersion(), gitMajor: major, gitMinor: minor };
  const settings = Object.entries(values).map(([variable, value]) => `-X k8s.io/component-base/version.${variable}=${value}`);
  return ['-s', '-w', ...settings].join(' ');
}

async function runGo(args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const go = spawn('go', args, { cwd: MODULE_FOLDER, env, stdio: ['ignore', 'inherit', 'pipe'] });
  const closed = once(go, 'close');
  const complaints: string[] = [];
  for await (const line of createInterface({ input: go.stderr })) {
    if (!line.startsWith('go: downloading ')) complaints.push(line);
  }
  const [code] = (await closed) as [number | null];
  if (code !== 0) throw new Error(`go build failed:\n${complaints.join('\n')}`);
}
