// A node of a real cluster: containerd, kubelet, kube-proxy, and the scheduler of the cluster. Runs in the namespaces of namespaces.ts.

import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { kubectlOutput } from '../real/kubectl.ts';
import { findBinary, KUBE_MODULE, POLICIES_MODULE } from '../support/kube-binaries.ts';
import { type Program, startProgram } from '../support/processes.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import { run } from '../support/run.ts';
import { connectFrom } from './connections.ts';
import { BUSYBOX } from './images.ts';
import { CNI_PLUGINS } from './prerequisites.ts';

export const NODE_NAME = 'node1';
const PODS = '10.244.0.0/24';

/** Settings of a node. */
interface NodeOptions {
  /** Address of the node. */
  readonly address: string;
  /** Folder of data and logs. */
  readonly folder: string;
  /** Name of the control group of the node, below the root of each hierarchy. */
  readonly controlGroup: string;
  /** OCI archives of the node's images. */
  readonly images: readonly string[];
}

/** Starts a node, and waits until it is ready and its programs handle the connections of pods. Throws with the output of one that fails. */
export async function startNode(cluster: RealCluster, options: NodeOptions): Promise<void> {
  const { address, folder, controlGroup } = options;
  await mkdir(join(folder, 'cni'), { recursive: true });
  for (const hierarchy of await hierarchies()) await createGroup(join(hierarchy, controlGroup));
  const socket = join(folder, 'containerd.sock');
  await writeFiles(folder, {
    'containerd.toml': containerdConfig(folder, socket),
    'cni/10-bridge.conflist': JSON.stringify(NETWORK),
    'kubelet.json': JSON.stringify(kubeletConfig(folder, socket, controlGroup)),
    'resolv.conf': '',
  });
  const start = (program: string, args: readonly string[], name = program) => startProgram(program, args, join(folder, `${name}.log`));
  const containerd = await start('containerd', ['--config', join(folder, 'containerd.toml')]);
  await importImages(socket, options.images);
  const [kubelet, proxy, scheduler] = ['kubelet', 'kube-proxy', 'kube-scheduler'].map((name) => findProgram(name)) as [
    string,
    string,
    string,
  ];
  const kubeletFlags = [
    `--config=${join(folder, 'kubelet.json')}`,
    `--kubeconfig=${await cluster.kubeconfig(`system:node:${NODE_NAME}`, ['system:nodes'])}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${address}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--cert-dir=${join(folder, 'kubelet-pki')}`,
  ];
  const proxyFlags = [
    `--kubeconfig=${await cluster.kubeconfig('system:kube-proxy')}`,
    '--proxy-mode=iptables',
    `--cluster-cidr=${PODS}`,
    `--hostname-override=${NODE_NAME}`,
    `--bind-address=${address}`,
    // Limits of connection tracking apply to the whole machine.
    '--conntrack-max-per-core=0',
    '--conntrack-tcp-timeout-established=0',
    '--conntrack-tcp-timeout-close-wait=0',
  ];
  const schedulerFlags = [`--kubeconfig=${await cluster.kubeconfig('system:kube-scheduler')}`, '--leader-elect=false', '--secure-port=0'];
  const programs = [
    containerd,
    await start(kubelet, kubeletFlags, 'kubelet'),
    await start(proxy, proxyFlags, 'kube-proxy'),
    await start(scheduler, schedulerFlags, 'kube-scheduler'),
    await enforcePolicies(cluster, folder),
  ];
  const node = `node/${NODE_NAME}`;
  for (const condition of ['create', 'condition=Ready'])
    await kubectlOutput(cluster, ['wait', node, `--for=${condition}`, '--timeout=120s']);
  await waitForService();
  for (const program of programs) if (!program.isRunning()) throw new Error(`A program of the node has ended:\n${await program.output()}`);
}

/** Waits until the address of the Service of the API server answers, which it does only by the rules of kube-proxy. */
async function waitForService(): Promise<void> {
  for (const end = performance.now() + START_MS; ; await delay(100)) {
    const result = await connectFrom(process.pid, '10.0.0.1', 443);
    if (result === 'connected') return;
    if (performance.now() > end) throw new Error(`kube-proxy does not forward connections to the API server: ${result}`);
  }
}

/** Time for a program of the node to start, in milliseconds. */
const START_MS = 60_000;

/**
 * Starts the program that enforces NetworkPolicies, and sends it the packets that open a connection of a pod. The kernel drops these while
 * the program does not run.
 */
async function enforcePolicies(cluster: RealCluster, folder: string): Promise<Program> {
  const log = join(folder, 'network-policies.log');
  const flags = [`--kubeconfig=${await cluster.kubeconfig('admin')}`, `--node=${NODE_NAME}`];
  const program = await startProgram(findProgram('network-policies', POLICIES_MODULE), flags, log);
  for (const end = performance.now() + START_MS; !(await program.output()).includes('ready'); await delay(100))
    if (!program.isRunning() || performance.now() > end) throw new Error(`NetworkPolicies are not enforced:\n${await program.output()}`);
  const queue = '-m conntrack --ctstate NEW -j NFQUEUE --queue-num 100';
  const commands = [
    // Bridged packets also pass the rules.
    'sysctl -q -w net.bridge.bridge-nf-call-iptables=1',
    // Programs on the node, such as kubelet with its probes, may connect to all pods.
    'iptables -t mangle -A POSTROUTING -m owner --uid-owner 0 -j ACCEPT',
    `iptables -t mangle -A POSTROUTING ${queue}`,
    `iptables -t mangle -A INPUT -i cni0 ${queue}`,
  ];
  const { code, stderr } = await run('sh', ['-ec', commands.join('\n')]);
  if (code !== 0) throw new Error(stderr);
  return program;
}

/** Returns the roots of the control group hierarchies: one for version 2, or one for each controller for version 1. */
export async function hierarchies(): Promise<readonly string[]> {
  if (existsSync('/sys/fs/cgroup/cgroup.controllers')) return ['/sys/fs/cgroup'];
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
  return mounts.filter(([, , type]) => type === 'cgroup' || type === 'cgroup2').map(([, path]) => path as string);
}

/** Creates the control group of the node. Its pods get CPU before the programs of this machine, as on a node that is not overloaded. */
async function createGroup(path: string): Promise<void> {
  await mkdir(path);
  const weights = { 'cpu.shares': '262144', 'cpu.weight': '10000' };
  for (const [name, weight] of Object.entries(weights)) if (existsSync(join(path, name))) await writeFile(join(path, name), weight);
}

function findProgram(name: string, pinned = KUBE_MODULE): string {
  const path = findBinary(name, process.env, pinned);
  if (path === undefined) throw new Error(`${name} was not found. Run \`npm run test:pods\`, which builds it.`);
  return path;
}

/** Imports images; containerd may still be starting. */
async function importImages(socket: string, images: readonly string[]): Promise<void> {
  const wait = `until ctr --address ${socket} version > /dev/null 2>&1; do sleep 0.1; done`;
  await run('timeout', ['60', 'sh', '-c', wait]);
  for (const image of images) {
    const { code, stderr } = await run('ctr', ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', image]);
    if (code !== 0) throw new Error(`containerd did not import ${image}: ${stderr}`);
  }
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}

const NETWORK = {
  cniVersion: '0.4.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      // A pod reaches itself through a Service.
      hairpinMode: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: PODS }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
  ],
};

function containerdConfig(folder: string, socket: string): string {
  return `version = 2
root = "${folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${BUSYBOX}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${CNI_PLUGINS}"
    conf_dir = "${folder}/cni"
`;
}

function kubeletConfig(folder: string, socket: string, controlGroup: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    containerRuntimeEndpoint: `unix://${socket}`,
    // The namespaces are private; tests use kubelet as the API server does.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    clusterDomain: 'cluster.local',
    clusterDNS: ['10.0.0.10'],
    resolvConf: join(folder, 'resolv.conf'),
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${controlGroup}`,
    cgroupsPerQOS: true,
    enforceNodeAllocatable: ['none'],
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    maxOpenFiles: 20_000,
    podLogsDir: join(folder, 'pod-logs'),
    volumePluginDir: join(folder, 'plugins'),
    evictionHard: { 'memory.available': '50Mi', 'nodefs.available': '1%', 'imagefs.available': '1%' },
    imageGCHighThresholdPercent: 100,
  };
}
