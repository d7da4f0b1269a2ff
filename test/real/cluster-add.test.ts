// Commands of `purser cluster` on a real hub with Purser and a real target, with contexts that authenticate in different ways.

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import {
  type ApiObject,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  ManagedTokens,
  Namespaces,
  type Resource,
  RoleBindings,
  Roles,
  Secrets,
  ServiceAccounts,
} from '../../src/api/resources.ts';
import { type App, startApp } from '../../src/app/app.ts';
import { addCluster } from '../../src/cli/cluster/add.ts';
import { toRegistration } from '../../src/cli/cluster/context.ts';
import type { Peer } from '../../src/cli/cluster/peer.ts';
import { removeCluster } from '../../src/cli/cluster/remove.ts';
import type { CommandHost } from '../../src/cli/command.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { createFixedConfig, loadKubeConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { createTransport, type Transport, type TransportRequest } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { appSettings } from '../support/app-settings.ts';
import { newFolder } from '../support/folders.ts';
import { freePorts } from '../support/ports.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import type { RunResult } from '../support/run.ts';
import { runPurser } from '../support/run-purser.ts';
import { waitUntil } from './deploy-world.ts';

let hub: RealCluster;
let target: RealCluster;
let app: App;
let kubeconfig: string;
const clients: KubeClient[] = [];
const admin: Record<'hub' | 'target', KubeClient> = {} as never;
const base64 = (text: string) => Buffer.from(text).toString('base64');

interface UserEntry {
  readonly name: string;
  readonly user: object;
}

async function connect(path: string, context?: string): Promise<KubeClient> {
  const client = new KubeClient(createTransport(await loadKubeConfig(path, context), { clock: systemClock }), 'tests');
  clients.push(client);
  return client;
}

async function userOf(cluster: RealCluster, name: string, groups: readonly string[] = []): Promise<object> {
  const config = parse(await readFile(await cluster.kubeconfig(name, groups), 'utf8')) as { readonly users: readonly UserEntry[] };
  return config.users[0]?.user ?? {};
}

/** Writes a kubeconfig with contexts that are named after cluster and kind of authentication. */
async function writeContexts(): Promise<string> {
  const folder = await newFolder();
  const plugin = join(folder, 'plugin.sh');
  const credential = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token: 'admintoken' } };
  await writeFile(plugin, `#!/bin/sh\necho '${JSON.stringify(credential)}'\n`);
  await chmod(plugin, 0o755);
  const exec = (command: string) => ({ exec: { apiVersion: 'client.authentication.k8s.io/v1', command, interactiveMode: 'Never' } });
  const cluster = ({ url, ca }: RealCluster) => ({ server: url, 'certificate-authority-data': base64(ca) });
  const [port] = await freePorts(1);
  const clusters = {
    hub: cluster(hub),
    target: cluster(target),
    untrusted: { ...cluster(target), 'certificate-authority-data': base64(hub.ca) },
    silent: { ...cluster(target), server: `https://127.0.0.1:${port}` },
    insecure: { server: target.url, 'insecure-skip-tls-verify': true },
  };
  const users = {
    token: await userOf(target, 'admin'),
    certificate: await userOf(target, 'root', ['system:masters']),
    'hub-certificate': await userOf(hub, 'root', ['system:masters']),
    registrar: await userOf(hub, 'registrar'),
    plugin: exec(plugin),
    'missing-plugin': exec(join(folder, 'missing')),
    alice: await userOf(target, 'alice'),
    stranger: { token: 'unknown' },
  };
  const contexts = Object.keys(clusters).flatMap((name) =>
    Object.keys(users).map((user) => ({ name: `${name}-${user}`, cluster: name, user })),
  );
  const path = join(folder, 'kubeconfig');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: Object.entries(clusters).map(([name, each]) => ({ name, cluster: each })),
    users: Object.entries(users).map(([name, user]) => ({ name, user })),
    contexts: contexts.map(({ name, ...context }) => ({ name, context })),
    'current-context': 'hub-token',
  };
  await writeFile(path, JSON.stringify(config));
  return path;
}

async function startPurser(): Promise<App> {
  const { status } = await admin.hub.createToken(
    { namespace: 'purser-system', name: 'purser' },
    { audiences: [], expirationSeconds: 36_000 },
  );
  const user = { name: 'purser', token: status?.token ?? '' };
  const source = createFixedConfig({ name: 'hub', server: hub.url, caData: base64(hub.ca), skipTLSVerify: false }, user);
  const log = createLogger({ level: 'warn', readable: false, write: () => {} });
  const settings = appSettings({ namespace: 'purser-system', verifyIntervalMs: 0, probeIntervalMs: 1_000, accessIntervalMs: 1_000 });
  const started = startApp({ hub: source, clock: systemClock, random: Math.random, log, settings });
  await started.ready;
  return started;
}

beforeAll(async () => {
  [hub, target] = await Promise.all([startRealCluster({ controllers: true }), startRealCluster()]);
  admin.hub = await connect(await hub.kubeconfig('admin'));
  admin.target = await connect(await target.kubeconfig('admin'));
  await applyAll(admin.hub, await readManifests('crds'));
  const signal = AbortSignal.timeout(60_000);
  await waitUntilServed(admin.hub, [Clusters, ManagedTokens], { clock: systemClock, random: Math.random, signal });
  for (const path of ['deploy/base/namespace.yaml', 'deploy/base/access.yaml']) await applyAll(admin.hub, await readManifests(path));
  kubeconfig = await writeContexts();
  app = await startPurser();
});

afterAll(async () => {
  await app?.stop();
  for (const client of clients) await client.transport.close();
  await Promise.all([hub, target].map((cluster) => cluster?.stop()));
});

/** Runs a command line with the contexts. */
async function purser(line: string): Promise<RunResult> {
  const result = await runPurser([...line.split(' '), '--kubeconfig', kubeconfig], { clock: systemClock, env: process.env });
  // No output contains a token.
  expect(`${result.output}${result.stderr}`).not.toMatch(/eyJ|admintoken/);
  return result;
}

const TARGET_KINDS: readonly Resource<ApiObject>[] = [ClusterRoleBindings, ClusterRoles, RoleBindings, Roles, ServiceAccounts, Secrets];

/** Returns the names of all of Purser's objects on both clusters, except those of its own installation. */
async function leftovers(): Promise<readonly string[]> {
  const onTarget = await Promise.all(
    TARGET_KINDS.map(async (kind) => (await admin.target.list(kind)).items.map(({ metadata }) => metadata.name)),
  );
  const clusters = (await admin.hub.list(Clusters)).items.map(({ metadata }) => metadata.name);
  const secrets = (await admin.hub.list(Secrets, { namespace: 'purser-system' })).items.map(({ metadata }) => metadata.name);
  return [
    ...onTarget.flat().filter((name) => name.startsWith('purser')),
    ...clusters,
    ...secrets.filter((name) => name.includes('credential')),
  ];
}

async function isReady(name: string): Promise<boolean> {
  const { status } = await admin.hub.get(Clusters, { name });
  return status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;
}

const ADD = 'cluster add eu --hub-context hub-token --context target-token --allow-loopback';
const REMOVE = '--hub-context hub-token --purge-target --context target-token --yes';

/** Discards the response to one request, and interrupts the command at that moment, as Ctrl-C does. */
class Interruption {
  readonly #controller = new AbortController();
  readonly #last: number;
  sent = 0;

  /** `last` is the number of requests that the servers receive. */
  constructor(last: number) {
    this.#last = last;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  async peer(role: Peer['role'], context: string): Promise<Peer> {
    const { transport } = await connect(kubeconfig, context);
    const request = async (each: TransportRequest) => {
      const response = await transport.request(each);
      this.sent += 1;
      if (this.sent === this.#last) this.#controller.abort();
      this.signal.throwIfAborted();
      return response;
    };
    return { role, context, client: new KubeClient({ server: transport.server, request } as unknown as Transport, 'purser-cli') };
  }

  host(): CommandHost {
    return { clock: systemClock, env: {}, print: () => {}, warn: () => {}, signal: this.signal };
  }
}

/** Runs a command until the response to its `last`-th request; returns false if it completes first. */
async function interrupt(last: number, command: 'add' | 'remove'): Promise<boolean> {
  const interruption = new Interruption(last);
  const sides = { hub: await interruption.peer('hub', 'hub-token'), target: await interruption.peer('target cluster', 'target-token') };
  const context = { name: 'target-token', server: target.url, ca: target.ca, isVerified: true };
  const registration = await toRegistration({ name: 'eu', namespace: 'purser-system', context, allowLoopback: true, labels: {} });
  const running =
    command === 'add'
      ? addCluster({ ...sides, registration, serviceAccount: undefined, timeoutMs: 60_000 }, interruption.host())
      : removeCluster({ ...sides, name: 'eu', namespace: 'purser-system', isConfirmed: true }, interruption.host());
  const isInterrupted = await running.then(
    () => false,
    () => true,
  );
  expect(isInterrupted).toBe(interruption.signal.aborted);
  return isInterrupted;
}

async function clean(): Promise<void> {
  for (const { metadata } of (await admin.hub.list(Clusters)).items) await purser(`cluster remove ${metadata.name} ${REMOVE}`);
  expect(await leftovers()).toEqual([]);
}

describe('purser cluster add', () => {
  afterEach(clean);

  it.each([
    ['token', 'hub-token', 'target-token'],
    ['client certificate', 'hub-hub-certificate', 'target-certificate'],
    ['credential plugin', 'hub-plugin', 'target-plugin'],
  ])('registers a cluster with contexts that use a %s, and changes nothing in a second run', async (_, hubContext, context) => {
    const line = `cluster add eu --hub-context ${hubContext} --context ${context} --allow-loopback --label env=prod --set prod`;
    const first = await purser(line);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.output).toContain('Secret purser-system/eu-credential created.\nCluster eu created.\n');
    expect(first.output).toMatch(/Reachable=True Responding\nAuthorized=True PermissionsGranted\n/);
    expect(first.output).toMatch(/Ready=True ClusterReady\nCluster eu is Ready: /);
    const cluster = await admin.hub.get(Clusters, { name: 'eu' });
    expect(cluster.metadata.labels).toEqual({ env: 'prod', 'registry.purser.dev/set': 'prod' });
    const second = await purser(line);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    expect(second.output).toContain('Secret purser-system/eu-credential unchanged.\nCluster eu unchanged.\n');
    expect((await admin.hub.get(Clusters, { name: 'eu' })).metadata.generation).toBe(cluster.metadata.generation);
  });

  it('makes the cluster Ready in a second run after an interruption at any request, and leaves no objects after removal', async () => {
    for (let last = 1; ; last++) {
      const isInterrupted = await interrupt(last, 'add');
      expect(await purser(ADD)).toMatchObject({ code: 0, stderr: '' });
      expect(await isReady('eu')).toBe(true);
      await clean();
      if (!isInterrupted) {
        expect(last).toBeGreaterThan(15);
        break;
      }
    }
  });

  it('limits Purser to namespaces, and warns about permissions in all namespaces from an earlier run', async () => {
    await admin.target.apply(Namespaces, { metadata: { name: 'deploy' } });
    expect(await purser(`${ADD} --namespaces deploy,missing`)).toEqual({
      code: 1,
      output: '',
      stderr:
        'purser: the target cluster responded: namespaces "missing" not found. Create the namespace, or correct the option that names it\n',
    });
    expect(await purser(ADD)).toMatchObject({ code: 0 });
    const { code, stderr } = await purser(`${ADD} --namespaces deploy`);
    expect([code, stderr]).toEqual([0, expect.stringContaining(' --context target-token delete clusterrolebinding purser\n')]);
    const { data } = await admin.hub.get(Secrets, { namespace: 'purser-system', name: 'eu-credential' });
    expect(data?.['namespaces']).toBe(base64('deploy'));
    await admin.target.get(RoleBindings, { namespace: 'deploy', name: 'purser' });
  });

  it('repairs a Secret without its token, and keeps additional addresses of the Secret', async () => {
    await purser(ADD);
    const name = { namespace: 'purser-system', name: 'eu-credential' };
    const server = `${target.url} https://eu.example.com`;
    await admin.hub.patch(Secrets, name, { data: { token: null, server: base64(server) } });
    await waitUntil(async () => !(await isReady('eu')));
    expect(await purser(ADD)).toMatchObject({
      code: 0,
      stderr: '',
      output: expect.stringContaining('Secret purser-system/eu-credential updated.'),
    });
    expect((await admin.hub.get(Secrets, name)).data?.['server']).toBe(base64(server));
  });

  it('exits with code 3 and reports the failing condition for an address that the hub cannot reach', async () => {
    const [port] = await freePorts(1);
    const server = `https://127.0.0.1:${port}`;
    const { code, stderr } = await purser(`${ADD} --server ${server} --timeout 5s`);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/^purser: Cluster eu is not Ready yet: Reachable=False ConnectionRefused: .*Check that .*\n$/),
    ]);
    expect(stderr).toContain(server);
  });

  it('refuses the name of a Cluster or Secret that describes another server, and changes nothing', async () => {
    await purser(ADD);
    const before = await admin.hub.get(Clusters, { name: 'eu' });
    const other = await purser(`${ADD} --server https://eu.example.com`);
    expect(other).toEqual({
      code: 1,
      output: '',
      stderr: `purser: Cluster eu already exists with the address ${target.url}, not https://eu.example.com. Choose another name, or run purser cluster remove eu first\n`,
    });
    expect((await admin.hub.get(Clusters, { name: 'eu' })).metadata.generation).toBe(before.metadata.generation);
    const secret = { namespace: 'purser-system', name: 'us-credential' };
    await admin.hub.create(Secrets, { metadata: secret, data: { cluster: base64('other') } });
    const { code, stderr } = await purser(ADD.replace(' eu ', ' us '));
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('Secret purser-system/us-credential already exists with a credential for other, not for us at'),
    ]);
    await admin.hub.delete(Secrets, secret);
  });

  it.each([
    [
      'a context that does not exist',
      '--context nowhere',
      2,
      /the kubeconfig has no context "nowhere"\. Correct the kubeconfig, or set --kubeconfig$/,
    ],
    [
      'a hub context that does not exist',
      '--context target-token --hub-context nowhere',
      2,
      /no context "nowhere"\. Correct the kubeconfig, or set --kubeconfig$/,
    ],
    [
      'the context of the hub',
      '--context hub-plugin',
      1,
      /refer to the same cluster\. Choose the context of the target cluster with --context/,
    ],
    [
      'a hub without Purser',
      '--context hub-token --hub-context target-token',
      1,
      /^the hub does not serve Purser's resources\. Install Purser/,
    ],
    [
      'a user without permissions on the target',
      '--context target-alice',
      1,
      /User "alice" cannot patch resource "namespaces".*\. Grant the user/,
    ],
    [
      'a user without permissions on the hub',
      '--context target-token --hub-context hub-alice',
      1,
      /^the hub responded: .*User "alice" cannot get/,
    ],
    [
      'a rejected token',
      '--context target-stranger',
      1,
      /^the target cluster rejects the credential of context "target-stranger"\. Log in/,
    ],
    [
      'a missing plugin',
      '--context target-missing-plugin',
      1,
      /^cannot authenticate to the target cluster: credential plugin .*missing failed/,
    ],
    ['an address without server', '--context silent-token', 1, /cannot connect to .* \(ECONNREFUSED\)\. Check the network/],
    [
      'an untrusted certificate',
      '--context untrusted-token',
      1,
      /^the certificate of https:.* is not trusted \([A-Z_]+\)\. Check certificate-auth/,
    ],
    ['a certificate that is not verified', '--context insecure-token', 2, /does not verify the certificate.*certificate-authority-data/],
  ])('prints one line and changes nothing for %s', async (_, options, code, problem) => {
    const line = `cluster add eu --allow-loopback ${options}`;
    const result = await purser(line.includes('--hub-context') ? line : `${line} --hub-context hub-token`);
    expect(result).toEqual({ code, output: '', stderr: expect.stringMatching(/^purser: .+\n$/) });
    expect(result.stderr.slice('purser: '.length).trimEnd()).toMatch(problem);
    expect(await leftovers()).toEqual([]);
  });

  it('refuses a loopback address without --allow-loopback', async () => {
    const { code, stderr } = await purser(ADD.replace(' --allow-loopback', ''));
    expect([code, stderr]).toEqual([2, expect.stringMatching(/is a loopback address, .* Set --server .* --allow-loopback if Purser runs/)]);
  });

  it('registers a cluster that trusts the hub, and prints the configuration of its API server', async () => {
    const { code, output, stderr } = await purser(`${ADD} --federated --timeout 0`);
    expect([code, stderr]).toEqual([0, '']);
    expect(output).toContain(
      `purser print authentication-config --issuer https://hub.test --server ${target.url} --service-account purser-federated`,
    );
    const { data = {} } = await admin.hub.get(Secrets, { namespace: 'purser-system', name: 'eu-credential' });
    expect(Object.keys(data).sort()).toEqual(['ca.crt', 'cluster', 'server', 'serviceAccount']);
    await admin.hub.get(ServiceAccounts, { namespace: 'purser-system', name: 'purser-federated' });
    const { subjects = [] } = await admin.target.get(ClusterRoleBindings, { name: 'purser' });
    expect(subjects.map(({ name }) => name)).toEqual(['hub:system:serviceaccount:purser-system:purser-federated']);
  });

  it('prints a placeholder for the issuer if the user may not read the issuer of the hub', async () => {
    const metadata = { name: 'registrar' };
    await admin.hub.create(ClusterRoles, { metadata, rules: [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }] });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'registrar' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'registrar' }];
    await admin.hub.create(ClusterRoleBindings, { metadata, roleRef, subjects });
    const { code, output, stderr } = await purser(
      `${ADD.replace('--hub-context hub-token', '--hub-context hub-registrar')} --federated --timeout 0`,
    );
    expect([code, stderr]).toEqual([0, '']);
    expect(output).toContain('purser print authentication-config --issuer ISSUER --server');
    expect(output).toContain('Replace ISSUER with the issuer of the hub: the field issuer in the output of kubectl ');
    expect(output).toContain(
      ' --context hub-registrar get --raw /.well-known/openid-configuration, which requires permission to get this path.',
    );
  });

  it('prints the objects that kubectl could apply with --dry-run, without sending a request', async () => {
    const { code, output, stderr } = await purser(`${ADD} --dry-run -o yaml`);
    expect([code, stderr]).toEqual([0, '']);
    const objects = parseAllDocuments(output).map((document) => document.toJS() as ApiObject & { readonly stringData?: object });
    expect(objects.map(({ kind }) => kind).slice(-2)).toEqual(['Secret', 'Cluster']);
    expect(objects.at(-2)?.stringData).toEqual({ cluster: 'eu', server: target.url, token: 'TOKEN', 'ca.crt': target.ca.trim() });
    const json = JSON.parse((await purser(`${ADD} --dry-run -o json`)).output);
    expect([...json.target.items, ...json.hub.items]).toEqual(objects);
    expect(await leftovers()).toEqual([]);
  });
});

describe('purser cluster', () => {
  beforeAll(async () => {
    expect(await purser(ADD)).toMatchObject({ code: 0 });
  });
  afterAll(clean);

  it('lists Clusters with latency and expiry of the credential', async () => {
    await waitUntil(async () => (await admin.hub.get(Clusters, { name: 'eu' })).status?.credentialRenewalTime !== undefined);
    const { code, output, stderr } = await purser('cluster list --context hub-token');
    expect([code, stderr]).toEqual([0, '']);
    const [head, row] = output.split('\n').map((line) => line.split(/ {2,}/));
    expect(head).toEqual(['NAME', 'READY', 'REASON', 'VERSION', 'LATENCY', 'CREDENTIAL EXPIRES', 'LAST PROBE']);
    const time = expect.stringMatching(/^\d{4}-/);
    expect(row).toEqual(['eu', 'True', 'ClusterReady', expect.stringMatching(/^v1\./), expect.stringMatching(/^\d+ms$/), time, time]);
    expect((await purser('cluster list --context hub-token -o name -l env=none')).output).toBe('');
    expect((await purser('cluster list --context hub-token -o name')).output).toBe('cluster.registry.purser.dev/eu\n');
  });

  it('shows conditions, addresses, credential and events of a Cluster', async () => {
    const { code, output } = await purser('cluster show eu --context hub-token');
    expect(code).toBe(0);
    for (const text of [target.url, 'Secret purser-system/eu-credential', 'PermissionsGranted', 'Tokens can be issued for the cluster.'])
      expect(output).toContain(text);
    expect(output).toMatch(/Events:\n {2}LAST SEEN .*\n(.*\n)*.*Normal +ClusterReady/);
    expect(await purser('cluster show us --context hub-token')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Cluster us was not found'),
    });
  });

  it('renews the credential, including with a new token from the context', async () => {
    const renewed = { namespace: 'purser-system', name: 'eu-credential-renewed' };
    const token = async () => (await admin.hub.get(Secrets, renewed)).data?.['token'];
    const before = await token();
    // At the same time, because Purser renews a credential at most every ten seconds.
    const results = await Promise.all(
      ['', ' --context target-token'].map((more) => purser(`cluster renew eu --hub-context hub-token${more}`)),
    );
    for (const { code, output, stderr } of results) {
      expect([code, stderr]).toEqual([0, '']);
      expect(output).toMatch(/Purser renewed its credential for Cluster eu; it is valid until \d{4}-/);
    }
    expect(await token()).not.toBe(before);
    expect(await purser('cluster renew eu --hub-context hub-token --context hub-plugin')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/does not refer to Cluster .*Set --context/),
    });
  });

  it('keeps the permissions of another registration of the target', async () => {
    const subjects = async () => ((await admin.target.get(ClusterRoleBindings, { name: 'purser' })).subjects ?? []).map(({ name }) => name);
    const user = 'hub:system:serviceaccount:purser-system:purser-federated';
    expect(await purser(`${ADD.replace(' eu ', ' federated ')} --federated --timeout 0`)).toMatchObject({ code: 0 });
    expect(await subjects()).toEqual(['purser', user]);
    expect(await purser(ADD)).toMatchObject({ code: 0 });
    expect(await subjects()).toEqual([user, 'purser']);
    expect(await purser(`cluster remove federated ${REMOVE}`)).toMatchObject({ code: 0 });
    expect(await subjects()).toEqual(['purser']);
  });

  it('lists ManagedTokens before removal, and requires confirmation', async () => {
    await admin.hub.apply(Namespaces, { metadata: { name: 'team-a' } });
    const spec = { clusterName: 'eu', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['x'] };
    await admin.hub.apply(ManagedTokens, { metadata: { namespace: 'team-a', name: 'ci' }, spec } as never);
    expect(await purser('cluster remove eu --hub-context hub-token')).toEqual({
      code: 2,
      output: '',
      stderr:
        'ManagedTokens that use Cluster eu: 1. Their Secrets keep the current tokens until the tokens expire, except Secrets of ManagedTokenSets and Secrets of ManagedTokens whose only permission is an RBAC rule for a cluster set: Purser removes those.\n  team-a/ci\npurser: removal requires confirmation on a terminal. Set --yes to remove without confirmation\n',
    });
    await admin.hub.delete(ManagedTokens, { namespace: 'team-a', name: 'ci' });
  });

  it('refuses to purge the target if --context names a context of the hub', async () => {
    const line = 'cluster remove eu --hub-context hub-token --purge-target --yes --context';
    expect(await purser(`${line} hub-plugin`)).toMatchObject({ code: 1, stderr: expect.stringContaining('refer to the same cluster') });
    expect(await isReady('eu')).toBe(true);
  });

  it('removes everything in a second run after an interruption at any request', async () => {
    for (let last = 1; ; last++) {
      expect(await purser(ADD)).toMatchObject({ code: 0 });
      const isInterrupted = await interrupt(last, 'remove');
      const { code, stderr } = await purser(`cluster remove eu ${REMOVE}`);
      expect([code, stderr]).toEqual(
        (await leftovers()).length === 0 && code === 1 ? [1, expect.stringContaining('was not found')] : [0, ''],
      );
      expect(await leftovers()).toEqual([]);
      if (!isInterrupted) break;
    }
  });
});
