// The test cluster: a hub with a node, and a target; kubectl has a context for each.

import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join } from 'node:path';
import type { Shell } from '../docs/shell.ts';
import { waitUntil } from '../real/deploy-world.ts';
import { createShell } from '../real/docs-world.ts';
import { type ApiRequest, type ApiResponse, sendRequest } from '../support/api-request.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { type RunResult, run } from '../support/run.ts';
import { podsFolder, RELEASE } from './run-folder.ts';

const NAMESPACE = 'purser-system';

/** Pod of Purser. */
export interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: {
    readonly podIP: string;
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses: readonly { readonly containerID: string; readonly restartCount: number }[];
  };
}

/** Runs kubectl, and returns its result. */
export async function runKubectl(...args: readonly string[]): Promise<RunResult> {
  return await run(kubeBinaries()?.kubectl ?? 'kubectl', ['--kubeconfig', join(podsFolder(), 'kubeconfig'), ...args]);
}

/** Runs kubectl on the hub, and returns its output. Throws an Error with the error output if kubectl fails. */
export async function kubectl(...args: readonly string[]): Promise<string> {
  const { code, output, stderr } = await runKubectl('--context', 'hub', ...args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return output;
}

/** Shells for the commands of the documentation: in the folder of the release, and in a checkout. */
export async function openShells(): Promise<{ readonly release: Shell; readonly checkout: Shell }> {
  const checkout = await createShell(JSON.parse(await readFile(join(podsFolder(), 'kubeconfig'), 'utf8')) as object);
  return { release: { ...checkout, folder: join(podsFolder(), RELEASE) }, checkout };
}

/** Returns Purser's pods that are not being deleted. */
export async function purserPods(): Promise<readonly Pod[]> {
  const list = await kubectl('-n', NAMESPACE, 'get', 'pods', '-l', 'app.kubernetes.io/name=purser', '-o', 'json');
  const { items } = JSON.parse(list) as { readonly items: readonly Pod[] };
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

function isReady({ status }: Pod): boolean {
  return (status.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
}

/** Returns the name of the pod that holds the Lease of the leader. */
export async function leader(): Promise<string> {
  const holder = await kubectl('-n', NAMESPACE, 'get', 'lease', 'purser', '-o', 'jsonpath={.spec.holderIdentity}');
  return (await purserPods()).map(({ metadata }) => metadata.name).find((name) => holder.startsWith(name)) ?? '';
}

/** Returns a pod of Purser. */
export async function podNamed(name: string): Promise<Pod> {
  return JSON.parse(await kubectl('-n', NAMESPACE, 'get', 'pod', name, '-o', 'json')) as Pod;
}

/** Waits until exactly two replicas exist, both are ready, and one of them leads. Returns the replicas. */
export async function waitUntilStable(): Promise<readonly Pod[]> {
  let pods: readonly Pod[] = [];
  await waitUntil(async () => {
    pods = await purserPods();
    return pods.length === 2 && pods.every(isReady) && (await leader()) !== '';
  });
  return pods;
}

/** Waits until no pod of Purser is being deleted. */
export async function waitUntilOldPodsAreGone(): Promise<void> {
  await waitUntil(async () => !(await kubectl('-n', NAMESPACE, 'get', 'pods', '-o', 'json')).includes('deletionTimestamp'));
}

/**
 * Returns the warning events of all objects except those with these names. Omits expected warnings: a replica that starts or stops is not
 * ready; a busy machine delays a few starts beyond the first startup probe (if more than a quarter are late, the probe is too early);
 * a busy kubelet reads a ConfigMap or Secret too late for a volume, and retries.
 */
export async function warnings(...except: readonly string[]): Promise<readonly string[]> {
  const { items } = JSON.parse(await kubectl('get', 'events', '-A', '-o', 'json')) as { readonly items: readonly KubeEvent[] };
  const timesOf = (reason: string) =>
    new Map(items.filter((event) => event.reason === reason).map((event) => [event.involvedObject.name, Date.parse(event.firstTimestamp)]));
  const [starts, stops] = [timesOf('Started'), timesOf('Killing')];
  const isSlowStart = ({ message = '' }: KubeEvent) => message.startsWith('Startup probe failed');
  const slow = new Set(items.filter(isSlowStart).map(({ involvedObject }) => involvedObject.name));
  const isExpected = (event: KubeEvent) => {
    const { message = '', involvedObject, firstTimestamp } = event;
    const { name } = involvedObject;
    if (isSlowStart(event)) return slow.size <= starts.size / 4;
    if (/: failed to sync (configmap|secret) cache: timed out waiting for the condition$/.test(message)) return true;
    if (!message.startsWith('Readiness probe failed')) return false;
    const at = Date.parse(firstTimestamp);
    const isStarting = message.includes('statuscode: 500') && at < (starts.get(name) ?? 0) + START_MS;
    return isStarting || at >= (stops.get(name) ?? Number.POSITIVE_INFINITY);
  };
  return items
    .filter((event) => event.type === 'Warning' && !except.includes(event.involvedObject.name) && !isExpected(event))
    .map(({ reason, message, involvedObject: { kind, name } }) => `${reason} ${kind} ${name}: ${message}`);
}

/** Time for a replica to become ready, in milliseconds. */
const START_MS = 30_000;

interface KubeEvent {
  readonly type: string;
  readonly reason: string;
  readonly message?: string;
  /** Time in the format of RFC 3339, to the second. */
  readonly firstTimestamp: string;
  readonly involvedObject: { readonly kind: string; readonly name: string };
}

/** Returns the names of all objects on the hub that contain `purser`, except events. */
export async function leftovers(): Promise<readonly string[]> {
  const kinds = (await kubectl('api-resources', '--verbs=list', '-o', 'name')).trim().split('\n');
  const listed = kinds.filter((kind) => !kind.startsWith('events')).join(',');
  return (await kubectl('get', listed, '-A', '-o', 'name')).split('\n').filter((name) => name.includes('purser'));
}

/** Creates a token for a service account on the hub. */
export async function createToken(namespace: string, serviceAccount: string): Promise<string> {
  return (await kubectl('-n', namespace, 'create', 'token', serviceAccount)).trim();
}

/** Returns the TLS options that verify Purser's certificate: the published CA, and the name of the Service. */
export async function purserTls(): Promise<{ readonly ca: string; readonly servername: string }> {
  const ca = await kubectl('-n', NAMESPACE, 'get', 'configmap', 'purser-facade-ca', '-o', 'jsonpath={.data.ca\\.crt}');
  return { ca, servername: 'purser.purser-system.svc' };
}

export async function purserAgent(keepAlive = false): Promise<Agent> {
  return new Agent({ ...(await purserTls()), keepAlive });
}

/** Returns the URL of the façade at the address of its Service. */
export async function facadeUrl(): Promise<string> {
  return `https://${await kubectl('-n', NAMESPACE, 'get', 'service', 'purser', '-o', 'jsonpath={.spec.clusterIP}')}:443`;
}

/** Sends a request to a server of Purser. */
export async function request(url: string, line: string, options: ApiRequest = {}): Promise<ApiResponse> {
  const [method = '', path = ''] = line.split(' ');
  const agent = await purserAgent();
  try {
    return await sendRequest({ url, agent }, method, path, options);
  } finally {
    agent.destroy();
  }
}
