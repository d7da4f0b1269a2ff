// Real clusters for tests: etcd, kube-apiserver and optionally kube-controller-manager, on loopback unless `address` names another
// address. Each has its own CA, keys, data and ports, so that any number of them can run at once.

import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { User } from '../../apiserver/access/user.ts';
import {
  type Certificate,
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
  LOOPBACK_NAMES,
} from '../../src/std/x509/certificates.ts';
import { type ApiAddress, sendRequest } from './api-request.ts';
import { type KubeBinaries, kubeBinaries } from './kube-binaries.ts';
import { freePorts } from './ports.ts';
import { type Program, removeOnExit, startProgram } from './processes.ts';
import { TEST_USERS, tokenOf } from './users.ts';

/** DNS name in every server certificate. It does not resolve, so only a proxy connects to it. */
export const PRIVATE_NAME = 'private.example.test';

export interface RealClusterOptions {
  /** Issuer of service account tokens; a function of the URL of the API server, or a fixed one. */
  readonly issuer?: string | ((url: string) => string);
  /** Users by static token. */
  readonly tokens?: ReadonlyMap<string, User>;
  /** True to log the metadata of every request to `auditLog`. */
  readonly audit?: boolean;
  /** True to run kube-controller-manager, for garbage collection, namespace deletion and default service accounts. */
  readonly controllers?: boolean;
  /** Address of this machine that nodes and pods connect to, on port 6443; absent: a free port of loopback, and no nodes. */
  readonly address?: string;
  /** Additional flags of kube-apiserver, which override the defaults. */
  readonly flags?: readonly string[];
}

export interface RealCluster {
  readonly url: string;
  readonly port: number;
  /** CA certificate of the server, as PEM. */
  readonly ca: string;
  /** Folder with all data and logs. */
  readonly folder: string;
  readonly auditLog: string;
  /** Writes a kubeconfig, with the static token of a user or a client certificate; returns its path. */
  readonly kubeconfig: (user: string, groups?: readonly string[]) => Promise<string>;
  /** Pauses the API server with SIGSTOP: connections stay open without responses. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Ends the API server with SIGKILL; `restart` starts it again. */
  readonly kill: () => Promise<void>;
  /** Pauses etcd with SIGSTOP: requests that need storage get no response. */
  readonly pauseStorage: () => void;
  readonly resumeStorage: () => void;
  /** Makes etcd reject writes as with a full disk, or accept them again. */
  readonly fillStorage: (isFull: boolean) => Promise<void>;
  /** Restarts with another signing key for service account tokens, which invalidates all issued tokens. */
  readonly rotateSigningKey: () => Promise<void>;
  /** Restarts with another server certificate, of the same CA or of a new one. */
  readonly rotateCertificate: (by: 'same authority' | 'new authority') => Promise<void>;
  /** Restarts all programs on the same ports and data; `kill` ends them with SIGKILL. */
  readonly restart: (how?: 'stop' | 'kill') => Promise<void>;
  /** Compacts etcd's history up to now. */
  readonly compact: () => Promise<void>;
  /** Ends all programs, and removes all data. */
  readonly stop: () => Promise<void>;
}

/** Starts a cluster, and waits until it is ready. Throws, with the end of the log, if it does not become ready. */
export async function startRealCluster(options: RealClusterOptions = {}): Promise<RealCluster> {
  const binaries = kubeBinaries();
  if (binaries === undefined) throw new Error('kube-apiserver was not found. Run `npm run kube:build`, or set KUBEBUILDER_ASSETS.');
  const folder = await mkdtemp(join(tmpdir(), 'purser-cluster-'));
  const authority = createAuthority(Date.now());
  await writeSecrets(folder, authority, options);
  const cancelRemoval = removeOnExit(folder);
  const remove = async () => {
    await rm(folder, { recursive: true, force: true });
    cancelRemoval();
  };
  const plan = { binaries, folder, options, authority, remove };
  try {
    return createCluster(plan, await startOnFreePorts(plan));
  } catch (error) {
    await remove();
    throw error;
  }
}

interface Plan {
  readonly binaries: KubeBinaries;
  readonly folder: string;
  readonly options: RealClusterOptions;
  authority: Certificate;
  readonly remove: () => Promise<void>;
}

interface Ports {
  /** Address of the API server. */
  readonly host: string;
  readonly api: number;
  readonly etcd: number;
  readonly peer: number;
}

interface Running {
  readonly ports: Ports;
  readonly etcd: Program;
  readonly apiserver: Program;
  readonly controllers: Program | undefined;
}

/** Address of the service `kubernetes`, the first of the service range. */
const SERVICE_ADDRESS = '10.0.0.1';
/** Usual port of an API server. */
const NODE_PORT = 6443;
const START_MS = 180_000;
const START_ATTEMPTS = 5;

function createCluster(plan: Plan, started: Running): RealCluster {
  let running = started;
  const url = urlOf(started.ports);
  const restart = async (how: 'stop' | 'kill' = 'stop') => {
    await endAll(running, how === 'stop' ? 10_000 : 0);
    running = await start(plan, running.ports);
  };
  return {
    url,
    port: started.ports.api,
    get ca() {
      return plan.authority.certificate;
    },
    folder: plan.folder,
    auditLog: join(plan.folder, 'audit.log'),
    kubeconfig: (user, groups = []) => writeKubeconfig(plan, url, { name: user, groups }),
    pause: () => running.apiserver.signal('SIGSTOP'),
    resume: () => running.apiserver.signal('SIGCONT'),
    kill: async () => {
      running.apiserver.signal('SIGKILL');
      await running.apiserver.ended;
    },
    pauseStorage: () => running.etcd.signal('SIGSTOP'),
    resumeStorage: () => running.etcd.signal('SIGCONT'),
    fillStorage: async (isFull) => {
      const alarm = { action: isFull ? 'ACTIVATE' : 'DEACTIVATE', alarm: 'NOSPACE' };
      await callEtcd(running.ports.etcd, 'maintenance/alarm', alarm);
    },
    rotateSigningKey: async () => {
      await writeFiles(plan.folder, { 'service-account.key': generateSigningKey() });
      await restart('kill');
    },
    rotateCertificate: async (by) => {
      if (by === 'new authority') plan.authority = createAuthority(Date.now());
      await writeFiles(plan.folder, certificateFiles(plan.authority, plan.options));
      await restart('kill');
    },
    restart,
    compact: () => compact(running.ports.etcd),
    stop: async () => {
      await endAll(running, 0);
      await plan.remove();
    },
  };
}

async function compact(port: number): Promise<void> {
  const { header } = await callEtcd(port, 'kv/range', { key: Buffer.from('/').toString('base64') });
  await callEtcd(port, 'kv/compaction', { revision: header.revision });
}

async function callEtcd(port: number, method: string, body: object): Promise<{ readonly header: { readonly revision: string } }> {
  const response = await fetch(`http://127.0.0.1:${port}/v3/${method}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`etcd ${method} returned ${response.status}`);
  return (await response.json()) as { readonly header: { readonly revision: string } };
}

async function startOnFreePorts(plan: Plan): Promise<Running> {
  for (let attempt = 1; ; attempt++) {
    const [free, etcd, peer] = (await freePorts(3)) as [number, number, number];
    const { address } = plan.options;
    const endpoint = address === undefined ? { host: '127.0.0.1', api: free } : { host: address, api: NODE_PORT };
    try {
      return await start(plan, { ...endpoint, etcd, peer });
    } catch (error) {
      if (attempt === START_ATTEMPTS || !/address already in use/.test(String(error))) throw error;
      await rm(join(plan.folder, 'etcd'), { recursive: true, force: true });
    }
  }
}

async function start(plan: Plan, ports: Ports): Promise<Running> {
  const { binaries, folder, options } = plan;
  const etcd = await startProgram(binaries.etcd, etcdFlags(folder, ports), join(folder, 'etcd.log'));
  const apiserver = await startProgram(binaries.kubeApiserver, apiserverFlags(folder, ports, options), join(folder, 'kube-apiserver.log'));
  const running = { ports, etcd, apiserver, controllers: undefined };
  try {
    await waitUntilReady(plan, running);
    return { ...running, controllers: options.controllers ? await startControllers(plan, ports) : undefined };
  } catch (error) {
    await endAll(running, 0);
    throw error;
  }
}

async function waitUntilReady(plan: Plan, { ports, etcd, apiserver }: Running): Promise<void> {
  const server = { url: urlOf(ports), agent: new Agent({ ca: plan.authority.certificate }) };
  const end = performance.now() + START_MS;
  while (!(await isServing(server, plan))) {
    const failed = [etcd, apiserver].find((program) => !program.isRunning());
    if (failed) throw new Error(`a program of the cluster exited:\n${lastLines(await failed.output())}`);
    if (performance.now() > end) throw new Error(`the cluster is not ready:\n${lastLines(await apiserver.output())}`);
    await delay(50);
  }
}

async function isServing(server: ApiAddress, { options }: Plan): Promise<boolean> {
  const tokens = options.tokens ?? TEST_USERS;
  const admin = tokenOf(tokens, 'admin');
  const headers = { authorization: `Bearer ${admin}` };
  try {
    const paths = ['/readyz', '/api/v1/namespaces/default'];
    const responses = await Promise.all(paths.map((path) => sendRequest(server, 'GET', path, { headers })));
    return responses.every(({ status }) => status === 200);
  } catch {
    return false;
  }
}

function lastLines(log: string): string {
  return log.trimEnd().split('\n').slice(-12).join('\n');
}

async function endAll({ etcd, apiserver, controllers }: Running, graceMs: number): Promise<void> {
  // In this order: without etcd, an API server logs errors instead of exiting.
  for (const program of [controllers, apiserver, etcd]) await program?.stop(graceMs);
}

function etcdFlags(folder: string, ports: Ports): readonly string[] {
  const [client, peer] = [`http://127.0.0.1:${ports.etcd}`, `http://127.0.0.1:${ports.peer}`];
  return [
    `--data-dir=${join(folder, 'etcd')}`,
    // Deleted and replaced objects take space until compaction: 50,000 tokens may need more than the default of 2 GB.
    '--quota-backend-bytes=8589934592',
    `--listen-client-urls=${client}`,
    `--advertise-client-urls=${client}`,
    `--listen-peer-urls=${peer}`,
    `--initial-advertise-peer-urls=${peer}`,
    `--initial-cluster=default=${peer}`,
    '--unsafe-no-fsync',
  ];
}

function apiserverFlags(folder: string, ports: Ports, options: RealClusterOptions): readonly string[] {
  const { issuer: given = 'https://hub.test' } = options;
  const issuer = typeof given === 'string' ? given : given(urlOf(ports));
  return [
    `--etcd-servers=http://127.0.0.1:${ports.etcd}`,
    `--bind-address=${ports.host}`,
    `--advertise-address=${ports.host}`,
    `--secure-port=${ports.api}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${join(folder, 'server.crt')}`,
    `--tls-private-key-file=${join(folder, 'server.key')}`,
    `--client-ca-file=${join(folder, 'ca.crt')}`,
    `--service-account-issuer=${issuer}`,
    `--service-account-key-file=${join(folder, 'service-account.key')}`,
    `--service-account-signing-key-file=${join(folder, 'service-account.key')}`,
    `--token-auth-file=${join(folder, 'tokens.csv')}`,
    '--service-cluster-ip-range=10.0.0.0/24',
    ...(options.address === undefined ? WITHOUT_NODES : WITH_NODES),
    ...(options.audit ? [`--audit-log-path=${join(folder, 'audit.log')}`, `--audit-policy-file=${join(folder, 'audit-policy.yaml')}`] : []),
    ...(options.flags ?? []),
  ];
}

// A loopback address cannot be an endpoint of the service `kubernetes`.
const WITHOUT_NODES = ['--endpoint-reconciler-type=none', '--authorization-mode=RBAC', '--disable-admission-plugins=ServiceAccount'];
const WITH_NODES = [
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--kubelet-preferred-address-types=InternalIP',
];

function urlOf({ host, api }: Ports): string {
  return `https://${host}:${api}`;
}

async function startControllers(plan: Plan, ports: Ports): Promise<Program> {
  const { binaries, folder } = plan;
  const kubeconfig = await writeKubeconfig(plan, urlOf(ports), {
    name: 'system:kube-controller-manager',
    groups: ['system:masters'],
  });
  const flags = [
    `--kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    '--secure-port=0',
    '--leader-elect=false',
    '--use-service-account-credentials=false',
    `--service-account-private-key-file=${join(folder, 'service-account.key')}`,
    `--root-ca-file=${join(folder, 'ca.crt')}`,
  ];
  return startProgram(binaries.kubeControllerManager, flags, join(folder, 'kube-controller-manager.log'));
}

/** Generates a key of the type that most clusters use. */
function generateSigningKey(): string {
  return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
}

async function writeSecrets(folder: string, authority: Certificate, options: RealClusterOptions): Promise<void> {
  const files = {
    ...certificateFiles(authority, options),
    'service-account.key': generateSigningKey(),
    'tokens.csv': tokenFile(options.tokens ?? TEST_USERS),
    'audit-policy.yaml': 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n',
  };
  await writeFiles(folder, files);
}

function certificateFiles(authority: Certificate, { address }: RealClusterOptions): Readonly<Record<string, string>> {
  const names = [...LOOPBACK_NAMES, PRIVATE_NAME, ...(address === undefined ? [] : [address, SERVICE_ADDRESS])];
  const { certificate, key } = issueServerCertificate(authority, names, Date.now());
  return { 'ca.crt': authority.certificate, 'server.crt': certificate, 'server.key': key };
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await Promise.all(Object.entries(files).map(([name, text]) => writeFile(join(folder, name), text, { mode: 0o600 })));
}

function tokenFile(tokens: ReadonlyMap<string, User>): string {
  // kube-apiserver would read an empty list of groups as one group without a name.
  const groupsOf = ({ groups }: User) => (groups.length === 0 ? '' : `,"${groups.join(',')}"`);
  return [...tokens].map(([token, user]) => `${token},${user.name},${user.uid ?? ''}${groupsOf(user)}\n`).join('');
}

async function writeKubeconfig(plan: Plan, server: string, user: { name: string; groups: readonly string[] }): Promise<string> {
  const token = tokenOf(plan.options.tokens ?? TEST_USERS, user.name);
  const base64 = (pem: string) => Buffer.from(pem).toString('base64');
  const certificate = issueClientCertificate(plan.authority, user, Date.now());
  const byCertificate = {
    'client-certificate-data': base64(certificate.certificate),
    'client-key-data': base64(certificate.key),
  };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'real', cluster: { server, 'certificate-authority-data': base64(plan.authority.certificate) } }],
    users: [{ name: user.name, user: token === undefined ? byCertificate : { token } }],
    contexts: [{ name: 'real', context: { cluster: 'real', user: user.name } }],
    'current-context': 'real',
  };
  const folder = join(plan.folder, 'kubeconfigs');
  await mkdir(folder, { recursive: true });
  const path = join(folder, encodeURIComponent([user.name, ...user.groups].join('+')));
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}
