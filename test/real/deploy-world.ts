// Deploys Purser on a real hub: installs the manifests with kubectl, runs the command of the image with Purser's service account, and
// registers a real target with the output of `purser print`.

import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parse, parseAllDocuments } from 'yaml';
import { type ApiRequest, type ApiResponse, sendRequest } from '../support/api-request.ts';
import { parseDockerfile, type Stage, wordsOf } from '../support/dockerfile.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { crdFiles, INVENTORY_CRDS } from '../support/operator-crds.ts';
import { type Program, startProgram } from '../support/processes.ts';
import { type RealCluster, type RealClusterOptions, startRealCluster } from '../support/real-cluster.ts';
import { readText } from '../support/repository.ts';
import { type RunResult, run } from '../support/run.ts';
import { TEST_USERS, tokenOf } from '../support/users.ts';
import { kubectlOutput, runKubectl, writeList } from './kubectl.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

export interface DeployedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Deployment extends DeployedObject {
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly serviceAccountName: string;
  readonly containers: readonly { readonly args: readonly string[] }[];
}

/** Returns the objects of a kustomization in `deploy`. */
export async function renderKustomization(path: string): Promise<readonly DeployedObject[]> {
  const { code, output, stderr } = await run(kubeBinaries()?.kubectl ?? 'kubectl', ['kustomize', join(REPOSITORY, 'deploy', path)]);
  if (code !== 0) throw new Error(stderr);
  return parseAllDocuments(output).map((document) => document.toJS() as DeployedObject);
}

export function isDeployment(object: DeployedObject): object is Deployment {
  return object.kind === 'Deployment';
}

/** Polls until the predicate returns true; throws after three minutes. */
export async function waitUntil(isMet: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 180_000;
  while (!(await isMet())) {
    if (performance.now() > end) throw new Error('the expected state was not reached within three minutes');
    await delay(100);
  }
}

/** Installs the admission policies with kubectl and waits until the API server enforces both on a user who lacks their verbs. */
export async function enforcePolicies(command: (...args: readonly string[]) => Promise<string>): Promise<void> {
  const sample = (name: string) => join(REPOSITORY, `deploy/samples/${name}.yaml`);
  const resources = 'clusters.registry.purser.dev,managedtokens.tokens.purser.dev';
  await command('apply', '--server-side', '-k', join(REPOSITORY, 'deploy/components/admission'));
  await command('create', 'clusterrole', 'probe', '--verb=get,create,patch', `--resource=${resources}`);
  await command('create', 'clusterrolebinding', 'probe', '--clusterrole=probe', '--user=probe');
  await command('apply', '-f', sample('ci-deployer'));
  for (const write of [
    ['create', '-f', sample('cluster')],
    ['annotate', '-n', 'team-a', 'mt/ci-deployer', 'tokens.purser.dev/probe=1'],
  ]) {
    const isDenied = async () =>
      await command(...write, '--dry-run=server', '--as=probe').then(
        () => false,
        (error) => String(error).includes('ValidatingAdmissionPolicy'),
      );
    await waitUntil(isDenied);
  }
  await command('delete', 'mt', '-n', 'team-a', 'ci-deployer');
}

/** Default options of both clusters. The issuer is the audience of the samples. */
const CLUSTER_OPTIONS = { audit: true, controllers: true, issuer: 'https://kubernetes.default.svc' };

const SETS = 'tokens.purser.dev/v1alpha1';

/** Options of the two clusters that replace the default ones. */
interface WorldOptions {
  readonly hub?: RealClusterOptions;
  readonly target?: RealClusterOptions;
}

export class DeployWorld {
  readonly hub: RealCluster;
  readonly target: RealCluster;
  readonly #running = new Map<string, Program>();
  readonly #isTargetShared: boolean;
  #authority: string | undefined;
  /** Last known contents of ready files, by the name of the Deployment. */
  readonly #addresses = new Map<string, string>();

  private constructor(hub: RealCluster, target: RealCluster, isTargetShared = false) {
    this.hub = hub;
    this.target = target;
    this.#isTargetShared = isTargetShared;
  }

  /** Starts an empty hub and an empty target. */
  static async startEmpty({ hub, target }: WorldOptions = {}): Promise<DeployWorld> {
    const options = [hub, target].map((each) => ({ ...CLUSTER_OPTIONS, ...each }));
    const [startedHub, startedTarget] = await Promise.all(options.map(startRealCluster));
    return new DeployWorld(startedHub as RealCluster, startedTarget as RealCluster);
  }

  /** Starts a hub with a kustomization applied to it, and a target. */
  static async start(path: string, options?: WorldOptions): Promise<DeployWorld> {
    const world = await DeployWorld.startEmpty(options);
    await world.#install(path);
    return world;
  }

  /** Starts a second hub for the target of a world, and applies a kustomization to it. */
  static async startBeside({ target }: DeployWorld, path: string): Promise<DeployWorld> {
    const world = new DeployWorld(await startRealCluster(CLUSTER_OPTIONS), target, true);
    await world.#install(path);
    return world;
  }

  async #install(path: string): Promise<void> {
    for (const name of ['team-a', 'team-b', 'fleet']) await this.kubectl('create', 'namespace', name);
    await this.kubectl('apply', '--server-side', '-k', `REPO/deploy/${path}`);
    await this.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=180s');
  }

  /** Starts a hub with these objects, and a target. */
  static async startWith(objects: readonly object[]): Promise<DeployWorld> {
    const world = await DeployWorld.startEmpty();
    await world.kubectl('apply', '--server-side', '-f', await writeList(world.hub, objects));
    return world;
  }

  /** Installs the admission policies and waits until the API server enforces them. */
  async enforcePolicies(): Promise<void> {
    await enforcePolicies((...args) => this.kubectl(...args));
  }

  /** Runs kubectl on the hub as an administrator. `REPO` stands for this repository. Throws an Error with the output if kubectl fails. */
  async kubectl(...args: readonly string[]): Promise<string> {
    return await kubectlOutput(this.hub, args);
  }

  /** Runs kubectl on the target as an administrator. */
  async kubectlOnTarget(...args: readonly string[]): Promise<string> {
    return await kubectlOutput(this.target, args);
  }

  /** Applies objects to the hub. */
  async apply(objects: readonly object[]): Promise<void> {
    await this.kubectl('apply', '-f', await writeList(this.hub, objects));
  }

  /** Sends objects to the hub with a server-side dry run, and returns the result of kubectl. */
  async dryRun(objects: readonly object[], ...args: readonly string[]): Promise<RunResult> {
    return await runKubectl(this.hub, [...args, '--dry-run=server', '-f', await writeList(this.hub, objects)]);
  }

  /** Runs the command of a Deployment with its service account, on free ports. Replicas must have different names. */
  async startDeployed({ metadata, spec }: Deployment, ...options: readonly string[]): Promise<Program> {
    const { serviceAccountName, containers } = spec.template.spec;
    const kubeconfig = join(this.hub.folder, `${metadata.name}.kubeconfig`);
    const token = await this.createToken('purser-system', serviceAccountName);
    const asAdmin = parse(await readFile(await this.hub.kubeconfig('admin'), 'utf8')) as object;
    await writeFile(kubeconfig, JSON.stringify({ ...asAdmin, users: [{ name: 'admin', user: { token } }] }));
    const args = (containers[0]?.args ?? []).filter((arg) => !/^--(facade|metrics)-port=/.test(arg));
    const environment = ['-u', 'NODE_OPTIONS', `KUBECONFIG=${kubeconfig}`, 'PURSER_NAMESPACE=purser-system'];
    const localOptions = [
      '--facade-port=0',
      '--metrics-port=0',
      '--bind-address=127.0.0.1',
      '--allow-loopback',
      `--ready-file=${this.#readyFile(metadata.name)}`,
    ];
    const command = [
      process.execPath,
      ...nodeOptions(this.hub.folder),
      join(REPOSITORY, 'src/main.ts'),
      ...args,
      ...localOptions,
      ...options,
    ];
    const program = await startProgram('env', [...environment, ...command], join(this.hub.folder, `${metadata.name}.log`));
    this.#running.set(metadata.name, program);
    this.#addresses.delete(metadata.name);
    return program;
  }

  /** Creates a service account for Purser on the target with `purser print target-rbac` and these options, and registers the target. */
  async register(name: string, ...options: readonly string[]): Promise<void> {
    await this.kubectlOnTarget('apply', '-f', 'REPO/deploy/target/deployer.yaml');
    await this.kubectlOnTarget('apply', '-f', await this.print('target-rbac', ...options));
    const token = (await this.kubectlOnTarget('create', 'token', 'purser', '-n', 'purser-system', '--duration=1h')).trim();
    await this.createCluster(name, this.target, { token });
  }

  /** Writes the output of `purser print` to a file, and returns its path. */
  async print(what: string, ...options: readonly string[]): Promise<string> {
    const printed = await run(process.execPath, [join(REPOSITORY, 'bin/purser.cjs'), 'print', what, ...options], { NODE_OPTIONS: '' });
    if (printed.code !== 0) throw new Error(printed.stderr);
    const file = join(this.hub.folder, `${what}.yaml`);
    await writeFile(file, printed.output);
    return file;
  }

  /** Creates a Cluster on the hub, with a Secret that pins the address and CA of this server. */
  async createCluster(name: string, { url, ca }: Pick<RealCluster, 'url' | 'ca'>, keys: Readonly<Record<string, string>>): Promise<void> {
    const metadata = { namespace: 'purser-system', name: `${name}-credential` };
    const orchestratorApiEndpoints = {
      caBundle: Buffer.from(ca).toString('base64'),
      serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: url }],
    };
    const spec = { orchestratorApiEndpoints, authInfo: { controller: { kind: 'Secret', ...metadata } } };
    await this.apply([
      { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { ...keys, server: url, 'ca.crt': ca, cluster: name } },
      { apiVersion: 'registry.purser.dev/v1alpha1', kind: 'Cluster', metadata: { name }, spec },
    ]);
  }

  /** Installs the CustomResourceDefinition of ClusterProfiles. */
  async installProfiles(): Promise<void> {
    const files = crdFiles(INVENTORY_CRDS).flatMap((file) => ['-f', file]);
    await this.kubectl('apply', ...files);
    await this.kubectl('wait', '--for=condition=Established', ...files, '--timeout=180s');
  }

  /**
   * Creates a ManagedTokenSet in team-a for target-1 with the requester of the sample ci-deployer, lets it repair and remove a
   * ClusterProfile, and deletes it.
   */
  async exerciseSet(): Promise<void> {
    const [set, profile] = ['mts/fleet', 'clusterprofile/fleet-target-1'].map((name) => ['-n', 'team-a', name]) as [string[], string[]];
    const label = (text: string) => this.kubectl('label', 'cluster.registry.purser.dev/target-1', text);
    const serviceAccount = { namespace: 'deploy', name: 'deployer' };
    const template = { spec: { serviceAccount, requesterServiceAccountName: 'ci', audiences: [CLUSTER_OPTIONS.issuer] } };
    const metadata = { name: 'fleet', namespace: 'team-a' };
    const clusterSelector = { matchLabels: { env: 'prod' } };
    await this.installProfiles();
    await this.apply([{ apiVersion: SETS, kind: 'ManagedTokenSet', metadata, spec: { clusterSelector, template } }]);
    const uid = await this.kubectl('get', ...set, '-o', 'jsonpath={.metadata.uid}');
    const owner = { apiVersion: SETS, kind: 'ManagedTokenSet', name: 'fleet', uid, controller: true };
    const labels = { 'x-k8s.io/cluster-manager': 'purser' };
    const altered = { name: 'fleet-target-1', namespace: 'team-a', labels, ownerReferences: [owner] };
    const spec = { displayName: 'altered', clusterManager: { name: 'purser' } };
    await label('env=prod');
    await this.waitFor('-n', 'team-a', 'mt/fleet-target-1', '--for=create');
    await this.apply([{ apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile', metadata: altered, spec }]);
    await this.kubectl('patch', ...set, '--type=merge', '-p', JSON.stringify({ spec: { clusterProfiles: true } }));
    await this.waitFor(...profile, '--for=jsonpath={.spec.displayName}=target-1');
    await this.kubectl('delete', ...profile);
    await this.kubectl('patch', ...set, '--type=merge', '-p', JSON.stringify({ spec: { clusterProfiles: false } }));
    await waitUntil(async () => !(await this.kubectl('get', ...set, '-o', 'jsonpath={.status}')).includes('ClusterProfilesPublished'));
    await this.kubectl('patch', ...set, '--type=merge', '-p', JSON.stringify({ spec: { clusterProfiles: true } }));
    await this.waitFor(...profile, '--for=create');
    await label('env-');
    await this.waitFor(...profile, '--for=delete');
    await this.kubectl('delete', ...set);
  }

  /** Returns Purser's renewed token for a target. */
  async renewedToken(name: string): Promise<string> {
    const secret = ['-n', 'purser-system', `secret/${name}-credential-renewed`];
    await this.waitFor(...secret, '--for=create');
    return Buffer.from(await this.kubectl('get', ...secret, '-o', 'jsonpath={.data.token}'), 'base64').toString();
  }

  /** Writes a new token into the registered Secret of a target, and waits until Purser has renewed it. */
  async replaceCredential(name: string, namespace = 'purser-system'): Promise<void> {
    const renewed = ['-n', namespace, `secret/${name}-credential-renewed`];
    await this.waitFor(...renewed, '--for=create');
    const version = () => this.kubectl('get', ...renewed, '-o', 'jsonpath={.metadata.resourceVersion}');
    const before = await version();
    const token = (await this.kubectlOnTarget('create', 'token', 'purser', '-n', 'purser-system', '--duration=10m')).trim();
    const patch = JSON.stringify({ stringData: { token } });
    await this.kubectl('patch', '-n', namespace, `secret/${name}-credential`, '--type=merge', '-p', patch);
    await waitUntil(async () => (await version()) !== before);
  }

  /** Sets the renewal of a credential to Manual, and waits until nothing is left of renewed tokens on the hub. */
  async retireCredential(name: string, namespace = 'purser-system'): Promise<void> {
    const patch = JSON.stringify({ spec: { credential: { renewal: 'Manual', overlap: '0s' } } });
    await this.kubectl('patch', `cluster.registry.purser.dev/${name}`, '--type=merge', '-p', patch);
    await this.waitFor('-n', namespace, `secret/${name}-credential-renewed`, '--for=delete');
  }

  /** Waits until the target rejects a token; it caches authenticated tokens for a few seconds. */
  async waitUntilRejected(token: string): Promise<void> {
    const isRejected = (error: unknown) => String(error).includes('Unauthorized');
    await waitUntil(() => this.kubectlOnTarget('auth', 'whoami', '--token', token).then(() => false, isRejected));
  }

  /** Runs `kubectl wait` on the hub. Throws an Error with the last log lines of Purser if the wait fails. */
  async waitFor(...args: readonly string[]): Promise<void> {
    const { code, stderr } = await runKubectl(this.hub, ['wait', ...args, '--timeout=180s']);
    if (code === 0) return;
    const logs = await Promise.all([...this.#running.values()].map((program) => program.output()));
    throw new Error([stderr, ...logs.map((log) => log.split('\n').slice(-20).join('\n'))].join('\n'));
  }

  /** Creates a token for a service account on the hub. */
  async createToken(namespace: string, serviceAccount: string): Promise<string> {
    return (await this.kubectl('create', 'token', serviceAccount, '-n', namespace)).trim();
  }

  /** Sends a request to the process of a Deployment, and verifies its certificate with the published CA and the name of the Service. */
  async request(endpoint: readonly [string, 'facade' | 'metrics'], line: string, request: ApiRequest): Promise<ApiResponse> {
    const [name, part] = endpoint;
    const [method = '', path = ''] = line.split(' ');
    const addresses = await this.#readAddresses(name);
    // The CA may have changed; while the hub is unavailable, the last known CA applies.
    this.#authority = await this.#readAuthority().catch((error: unknown) => {
      if (this.#authority === undefined) throw error;
      return this.#authority;
    });
    return await sendOnce({ url: addresses[part] ?? '', ca: this.#authority, servername: SERVICE }, method, path, request);
  }

  /** Reads the published CA. Sends a request itself, because a kubectl process for each request would take most of the CPU time. */
  async #readAuthority(): Promise<string> {
    const { url, ca } = this.hub;
    const headers = { authorization: `Bearer ${tokenOf(TEST_USERS, 'admin')}` };
    const path = '/api/v1/namespaces/purser-system/configmaps/purser-facade-ca';
    const { status, body } = await sendOnce({ url, ca, timeoutMs: 10_000 }, 'GET', path, { headers });
    if (status !== 200) throw new Error(body);
    return (JSON.parse(body) as { readonly data: Readonly<Record<string, string>> }).data['ca.crt'] ?? '';
  }

  /** Stops all processes of Purser. */
  async stopDeployed(): Promise<void> {
    await Promise.all([...this.#running.values()].map((program) => program.stop()));
  }

  async stop(): Promise<void> {
    await this.stopDeployed();
    await Promise.all([this.hub, ...(this.#isTargetShared ? [] : [this.target])].map((cluster) => cluster.stop()));
  }

  /** Returns the addresses of a process: the last known ones if the process has removed its ready file and still serves requests. */
  async #readAddresses(name: string): Promise<Readonly<Record<string, string>>> {
    const text = await readFile(this.#readyFile(name), 'utf8').catch((error: unknown) => {
      const known = this.#addresses.get(name);
      if (known === undefined) throw error;
      return known;
    });
    this.#addresses.set(name, text);
    return JSON.parse(text) as Readonly<Record<string, string>>;
  }

  #readyFile(name: string): string {
    return join(this.hub.folder, `${name}.ready.json`);
  }
}

/** Name of the Service, for which Purser's certificate is valid. */
const SERVICE = 'purser.purser-system.svc';

/** Sends a request over a new connection. Throws if the response takes longer than `timeoutMs`. */
async function sendOnce(
  { url, timeoutMs, ...tls }: { readonly url: string; readonly ca: string; readonly servername?: string; readonly timeoutMs?: number },
  ...[method, path, request]: [method: string, path: string, request: ApiRequest]
): Promise<ApiResponse> {
  const agent = new Agent(tls);
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => agent.destroy(), timeoutMs);
  try {
    return await sendRequest({ url, agent }, method, path, request);
  } finally {
    clearTimeout(timer);
    agent.destroy();
  }
}

/** Returns the Node.js options of the image, with access to this repository and to the folder. */
function nodeOptions(folder: string): readonly string[] {
  const final = parseDockerfile(readText('Dockerfile')).stages.at(-1) as Stage;
  const options = wordsOf(final, 'ENTRYPOINT').filter((word) => word.startsWith('--'));
  return [...options, `--allow-fs-read=${REPOSITORY}/*`, `--allow-fs-read=${folder}/*`, `--allow-fs-write=${folder}/*`];
}
