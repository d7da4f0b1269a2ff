// `npm run kube:build`: builds the programs of a real cluster, Helm, a reflector and a consumer of ClusterProfiles from pinned Go modules
// (go.mod and go.sum in this folder, and in those of the programs), and downloads custom resource definitions of other projects.
// With the argument `node`, builds the programs of a node, which only `npm run test:pods` needs. With the argument `peers`, builds the
// agent that `npm run bench` compares with Purser.
// To pin another version of Kubernetes, change it and the staging modules in go.mod, and run `go mod tidy` in this folder.

import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  BINARY_NAMES,
  cacheFolder,
  findBinary,
  HELM_MODULE,
  INVENTORY_MODULE,
  KUBE_MODULE,
  kubernetesVersion,
  PEER_MODULE,
  type PinnedModule,
  POLICIES_MODULE,
  REFLECTOR_MODULE,
} from '../support/kube-binaries.ts';
import { CRD_MODULES, type CrdModule, crdFiles, crdFolder, hasCrds, PEER_CRDS } from '../support/operator-crds.ts';

interface GoProgram {
  readonly name: string;
  readonly path: string;
  readonly pinned: PinnedModule;
}

const PROGRAMS: readonly GoProgram[] = [
  { name: BINARY_NAMES.etcd, path: 'go.etcd.io/etcd/server/v3', pinned: KUBE_MODULE },
  { name: BINARY_NAMES.kubectl, path: 'k8s.io/kubernetes/cmd/kubectl', pinned: KUBE_MODULE },
  { name: BINARY_NAMES.kubeApiserver, path: 'k8s.io/kubernetes/cmd/kube-apiserver', pinned: KUBE_MODULE },
  { name: BINARY_NAMES.kubeControllerManager, path: 'k8s.io/kubernetes/cmd/kube-controller-manager', pinned: KUBE_MODULE },
  { name: 'helm', path: 'helm.sh/helm/v4/cmd/helm', pinned: HELM_MODULE },
  { name: 'reflector', path: '.', pinned: REFLECTOR_MODULE },
  { name: 'create-token', path: './create-token', pinned: REFLECTOR_MODULE },
  { name: 'reverse-proxy', path: './reverse-proxy', pinned: REFLECTOR_MODULE },
  { name: 'profile-namespaces', path: '.', pinned: INVENTORY_MODULE },
  { name: 'secretreader', path: 'sigs.k8s.io/cluster-inventory-api/plugins/secretreader/cmd/plugin', pinned: INVENTORY_MODULE },
];

const NODE_PROGRAMS: readonly GoProgram[] = [
  ...PROGRAMS.filter(({ name }) => [...Object.values(BINARY_NAMES), 'helm'].includes(name)),
  ...['kubelet', 'kube-proxy', 'kube-scheduler'].map((name) => ({ name, path: `k8s.io/kubernetes/cmd/${name}`, pinned: KUBE_MODULE })),
  { name: 'network-policies', path: '.', pinned: POLICIES_MODULE },
];

const PEERS: readonly GoProgram[] = [{ name: 'managed-serviceaccount', path: `${PEER_CRDS.path}/cmd`, pinned: PEER_MODULE }];

const PROGRESS_MS = 15_000;

try {
  if (process.argv[2] === 'node') await buildMissing(NODE_PROGRAMS, []);
  else if (process.argv[2] === 'peers') await buildMissing(PEERS, [PEER_CRDS]);
  else await buildMissing(PROGRAMS, CRD_MODULES);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

async function buildMissing(programs: readonly GoProgram[], crds: readonly CrdModule[]): Promise<void> {
  const found = programs.map((program) => ({ program, at: findBinary(program.name, process.env, program.pinned) }));
  for (const { program, at } of found) if (at !== undefined) console.log(`${program.name}: ${at}`);
  const missing = found.filter(({ at }) => at === undefined).map(({ program }) => program);
  const missingCrds = crds.filter((module) => !hasCrds(module));
  if (missing.length + missingCrds.length === 0) return;
  const environment = findGoEnvironment(await readRequiredGo(), programs.map(({ name }) => name).join(', '));
  for (const module of missingCrds) await fetchCrds(module, environment);
  if (missing.length > 0) console.log(`Building ${missing.map(({ name }) => name).join(', ')}: this takes several minutes the first time.`);
  for (const program of missing) await build(program, environment);
}

async function fetchCrds(module: CrdModule, env: NodeJS.ProcessEnv): Promise<void> {
  const { path, version, sum, files } = module;
  // Runs outside any module, so that Go does not resolve the dependencies of the downloaded module.
  const { stdout } = spawnSync('go', ['mod', 'download', '-json', `${path}@${version}`], { cwd: '/', env, encoding: 'utf8' });
  const { Dir, Sum, Error: error } = JSON.parse(stdout) as { readonly Dir: string; readonly Sum: string; readonly Error?: string };
  if (error !== undefined || Sum !== sum) throw new Error(`cannot download ${path}@${version}: ${error ?? `its hash is ${Sum}`}`);
  await mkdir(crdFolder(module), { recursive: true });
  const targets = crdFiles(module);
  for (const [index, file] of files.entries()) await copyFile(join(Dir, file), targets[index] as string);
  console.log(`${path}: ${crdFolder(module)}`);
}

async function readRequiredGo(): Promise<string> {
  return /^go (\d+\.\d+)/m.exec(await readFile(join(KUBE_MODULE.folder, 'go.mod'), 'utf8'))?.[1] ?? '';
}

/**
 * Returns an environment with a sufficiently new `go` for the programs of these names. With GOTOOLCHAIN=auto, an older `go` downloads the
 * release that go.mod requires.
 */
function findGoEnvironment(required: string, names: string): NodeJS.ProcessEnv {
  const environment = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off' };
  const candidates = [environment, { ...environment, GOTOOLCHAIN: 'auto' }];
  const sufficient = candidates.find((candidate) => isAtLeast(goVersion(candidate), required));
  if (sufficient) return sufficient;
  const found = goVersion({ ...process.env, GOTOOLCHAIN: 'local', GOFLAGS: '-mod=mod' }, '/');
  throw new Error(
    `Building ${names} needs Go ${required} or newer, but ${found === undefined ? '`go` was not found on the PATH' : `Go ${found} is installed`}. ` +
      'Install Go (package golang-go of a recent distribution, or a release of the Go project) and run this command again; ' +
      `or set KUBEBUILDER_ASSETS to a folder with ${names}.`,
  );
}

function goVersion(env: NodeJS.ProcessEnv, cwd = KUBE_MODULE.folder): string | undefined {
  const { stdout } = spawnSync('go', ['version'], { cwd, env, encoding: 'utf8' });
  return /go version go(\S+)/.exec(stdout ?? '')?.[1];
}

function isAtLeast(version: string | undefined, required: string): boolean {
  if (version === undefined) return false;
  const [major, minor] = version.split('.').map(Number.parseFloat) as [number, number];
  const [requiredMajor, requiredMinor] = required.split('.').map(Number) as [number, number];
  return major > requiredMajor || (major === requiredMajor && minor >= requiredMinor);
}

/** Builds into a temporary file and renames it, so that a concurrent process never sees an incomplete program. */
async function build({ name, path, pinned }: GoProgram, env: NodeJS.ProcessEnv): Promise<void> {
  const folder = cacheFolder(process.env, pinned);
  await mkdir(folder, { recursive: true });
  const target = join(folder, name);
  const draft = join(folder, `.${name}.${process.pid}`);
  const startedAt = performance.now();
  const elapsed = () => `${Math.round((performance.now() - startedAt) / 1_000)} s`;
  const progress = setInterval(() => console.log(`${name}: ${elapsed()} …`), PROGRESS_MS);
  try {
    await runGo(['build', '-mod=readonly', '-trimpath', '-ldflags', linkerFlags(), '-o', draft, path], { cwd: pinned.folder, env });
    await rename(draft, target);
    console.log(`${name}: ${target}, built in ${elapsed()}`);
  } finally {
    clearInterval(progress);
    await rm(draft, { force: true });
  }
}

/** Returns the linker flags that set the version, which /version would otherwise report as unknown. */
function linkerFlags(): string {
  const [, major, minor] = /^v(\d+)\.(\d+)/.exec(kubernetesVersion()) ?? [];
  const values = { gitVersion: kubernetesVersion(), gitMajor: major, gitMinor: minor };
  const settings = Object.entries(values).map(([variable, value]) => `-X k8s.io/component-base/version.${variable}=${value}`);
  return ['-s', '-w', ...settings].join(' ');
}

async function runGo(args: readonly string[], options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }): Promise<void> {
  const go = spawn('go', args, { ...options, stdio: ['ignore', 'inherit', 'pipe'] });
  const closed = once(go, 'close');
  const errorLines: string[] = [];
  for await (const line of createInterface({ input: go.stderr })) {
    if (!line.startsWith('go: downloading ')) errorLines.push(line);
  }
  const [code] = (await closed) as [number | null];
  if (code !== 0) throw new Error(`go build failed:\n${errorLines.join('\n')}`);
}
