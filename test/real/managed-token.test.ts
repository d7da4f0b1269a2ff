// ManagedTokens on a real hub and two real targets, with Purser's own service accounts.

import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ManagedToken, ManagedTokenSpec } from '../../src/api/managed-token.gen.ts';
import {
  type ApiObject,
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  Events,
  Leases,
  ManagedTokens,
  Namespaces,
  type Resource,
  RoleBindings,
  Roles,
  Secrets,
  ServiceAccounts,
} from '../../src/api/resources.ts';
import { type App, startApp } from '../../src/app/app.ts';
import type { AppSettings } from '../../src/app/options.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { createFixedConfig, loadKubeConfig } from '../../src/kube/kube-config.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { TokenReviews } from '../../src/kube/reviews.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { hasReason } from '../../src/kubernetes/status.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { appSettings } from '../support/app-settings.ts';
import { PRIVATE_NAME, type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { startConnectProxy } from '../targets/connect-proxy.ts';
import { AuditLog } from './audit-log.ts';

const PURSER = 'system:serviceaccount:purser-system:purser';
const AUDIENCE = 'https://hub.test';
const NAMESPACE = 'team-a';
const VERIFY_MS = 4_000;
const YEAR_MS = 365 * 86_400_000;
const KINDS: readonly Resource<ApiObject>[] = [
  ClusterRoleBindings,
  ClusterRoles,
  Clusters,
  ManagedTokens,
  Namespaces,
  RoleBindings,
  Roles,
  Secrets,
  ServiceAccounts,
];

interface Site {
  readonly cluster: RealCluster;
  readonly admin: KubeClient;
  readonly audit: AuditLog;
}

let hub: Site;
let targets: Site[];
let app: App;
const logged: string[] = [];
const seen = new Set<string>();

async function connect(cluster: RealCluster): Promise<Site> {
  const transport = createTransport(await loadKubeConfig(await cluster.kubeconfig('admin')), { clock: systemClock });
  return { cluster, admin: new KubeClient(transport, 'tests'), audit: new AuditLog(cluster.auditLog, PURSER) };
}

async function applyFile({ admin }: Site, path: string): Promise<void> {
  for (const object of await readManifests(path)) {
    const resource = KINDS.find(({ kind }) => kind === object.kind);
    if (resource !== undefined) await admin.apply(resource, object, { force: true });
  }
}

async function requestPurserToken({ admin }: Site): Promise<string> {
  const account = { namespace: 'purser-system', name: 'purser' };
  const { status } = await admin.createToken(account, { audiences: [], expirationSeconds: 36_000 });
  return status?.token ?? '';
}

/** Registers a target with a new credential; `more` has additional keys of the credential's Secret. */
async function register(name: string, target: Site, url = target.cluster.url, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const { ca } = target.cluster;
  const keys = { token: await requestPurserToken(target), server: url, 'ca.crt': ca, cluster: name, ...more };
  const data = Object.fromEntries(Object.entries(keys).map(([key, value]) => [key, base64(value)]));
  const credential = { namespace: 'purser-system', name: `${name}-credential` };
  await hub.admin.apply(Secrets, { metadata: credential, type: 'Opaque', data }, { force: true });
  await hub.admin.apply(Clusters, {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name },
    spec: {
      orchestratorApiEndpoints: { caBundle: base64(ca), serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: url }] },
      authInfo: { controller: { kind: 'Secret', ...credential } },
    },
  });
}

async function allow(name: string): Promise<void> {
  const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames: [name], verbs: ['issue'] }];
  await hub.admin.apply(ClusterRoles, { metadata: { name: `issue-${name}` }, rules });
  await hub.admin.apply(ClusterRoleBindings, {
    metadata: { name: `issue-${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: `issue-${name}` },
    subjects: [{ kind: 'ServiceAccount', namespace: NAMESPACE, name: 'default' }],
  });
}

async function startPurser(overrides: Partial<AppSettings> = {}): Promise<App> {
  const token = await requestPurserToken(hub);
  const { url, ca } = hub.cluster;
  const source = createFixedConfig({ name: 'hub', server: url, caData: base64(ca), skipTLSVerify: false }, { name: 'purser', token });
  const log = createLogger({ level: 'trace', readable: false, write: (line) => logged.push(line) });
  // By default, Purser probes Clusters only at registration, so all counted requests belong to tokens.
  const longIntervals = { probeIntervalMs: YEAR_MS, accessIntervalMs: YEAR_MS };
  const settings = appSettings({ namespace: 'purser-system', verifyIntervalMs: 0, drainMs: 10_000, ...longIntervals, ...overrides });
  const started = startApp({ hub: source, clock: systemClock, random: Math.random, log, settings });
  await started.ready;
  return started;
}

beforeAll(async () => {
  const clusters = await Promise.all([
    startRealCluster({ audit: true, controllers: true }),
    startRealCluster({ audit: true }),
    startRealCluster({ audit: true }),
  ]);
  const [first, ...others] = await Promise.all(clusters.map(connect));
  hub = first as Site;
  targets = others;
  await applyAll(hub.admin, await readManifests('crds'));
  await waitUntilServed(hub.admin, [Clusters, ManagedTokens], {
    clock: systemClock,
    random: Math.random,
    signal: AbortSignal.timeout(30_000),
  });
  await applyFile(hub, 'deploy/base/namespace.yaml');
  await applyFile(hub, 'deploy/base/access.yaml');
  for (const target of targets) await applyFile(target, 'deploy/target');
  await hub.admin.create(Namespaces, { metadata: { name: NAMESPACE } });
  await waitUntil(async () => (await hub.admin.get(ServiceAccounts, { namespace: NAMESPACE, name: 'default' })) !== undefined);
  await register('one', targets[0] as Site);
  await register('two', targets[1] as Site);
  await allow('one');
  await allow('two');
  app = await startPurser();
  for (const name of ['one', 'two']) await waitUntil(() => isProbed(name));
});

afterAll(async () => {
  await app?.stop();
  for (const { cluster, admin } of [hub, ...(targets ?? [])].filter(Boolean)) {
    await admin.transport.close();
    await cluster.stop();
  }
});

/** Returns true after the first probe of a Cluster and its event. */
async function isProbed(name: string): Promise<boolean> {
  const { status } = await hub.admin.get(Clusters, { name });
  const { items } = await hub.admin.list(Events);
  const isReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  return isReady && items.some(({ involvedObject }) => involvedObject.kind === Clusters.kind && involvedObject.name === name);
}

/** Waits until the Reachable condition of the Cluster `private` has this status and reason. */
async function waitForReachable(expected: 'True' | 'False', reason: RegExp): Promise<void> {
  const readReachable = async () =>
    (await hub.admin.get(Clusters, { name: 'private' })).status?.conditions?.find(({ type }) => type === 'Reachable');
  await waitUntil(
    async () => {
      const found = await readReachable();
      return found?.status === expected && reason.test(found.reason ?? '');
    },
    async () => JSON.stringify(await readReachable()),
  );
}

async function createManagedToken(name: string, clusterName: string, spec: Partial<ManagedTokenSpec> = {}): Promise<void> {
  const token = {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name, namespace: NAMESPACE },
    spec: { clusterName, serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: [AUDIENCE], ...spec },
  };
  await hub.admin.create(ManagedTokens, token as unknown as ManagedToken);
}

async function readToken(name: string): Promise<string> {
  const secret = await hub.admin.get(Secrets, { namespace: NAMESPACE, name }).catch((error: unknown) => {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  });
  const token = Buffer.from(secret?.data?.['token'] ?? '', 'base64').toString();
  if (token !== '') seen.add(token);
  return token;
}

async function readConditions(name: string): Promise<string> {
  const { status } = await hub.admin.get(ManagedTokens, { namespace: NAMESPACE, name });
  return (status?.conditions ?? []).map(({ type, status: is, reason }) => `${type}=${is}/${reason}`).join(' ');
}

async function isAccepted(token: string, { admin }: Site): Promise<boolean> {
  const { status } = await admin.createReview(TokenReviews, { spec: { token, audiences: [AUDIENCE] } });
  return status?.authenticated === true;
}

async function waitForToken(name: string): Promise<string> {
  await waitUntil(
    async () => (await readConditions(name)).startsWith('Ready=True'),
    () => readConditions(name),
  );
  return await readToken(name);
}

async function waitForRenewal(name: string, before: string): Promise<string> {
  await waitUntil(
    async () => ![before, ''].includes(await readToken(name)),
    () => readConditions(name),
  );
  return await readToken(name);
}

async function waitUntil(isMet: () => Promise<boolean>, describeState: () => Promise<string> = async () => ''): Promise<void> {
  const end = performance.now() + TIMEOUT_MS;
  const isTrue = () =>
    isMet().catch((error: unknown) => {
      if (hasReason(error, 'NotFound')) return false;
      throw error;
    });
  while (!(await isTrue())) {
    if (performance.now() > end)
      throw new Error(`the expected state was not reached: ${await describeState()}\n${logged.slice(-5).join('')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const TIMEOUT_MS = 130_000;
const [one, two] = [() => targets[0] as Site, () => targets[1] as Site];

describe('ManagedToken on real clusters', () => {
  it('issues a token that only the target accepts, with six requests', async () => {
    await Promise.all([hub, one()].map(({ audit }) => audit.skip()));
    await createManagedToken('first', 'one');
    const token = await waitForToken('first');
    await waitUntil(async () => (await hub.audit.requests()).includes('create events'));
    const requests = [...(await hub.audit.requests()), ...(await one().audit.requests())];
    // A probe of a cluster may end in the meantime.
    const ofToken = requests.filter((request) => request !== 'update clusters/status');

    expect(ofToken.sort()).toEqual([
      'create events',
      'create secrets',
      // Purser looks up its user name once for each credential.
      'create selfsubjectreviews',
      'create serviceaccounts/token',
      'create subjectaccessreviews',
      'update managedtokens/status',
    ]);
    expect([await isAccepted(token, one()), await isAccepted(token, two())]).toEqual([true, false]);
  });

  it('rotates before expiry with one access review and three writes', async () => {
    await createManagedToken('short', 'two', { expirationSeconds: 600, rotation: { renewBefore: '85%', suspend: false } });
    const token = await waitForToken('short');
    await waitUntil(async () => (await hub.audit.requests()).filter((each) => each === 'create events').length >= 2);
    await Promise.all([hub, two()].map(({ audit }) => audit.skip()));
    const next = await waitForRenewal('short', token);
    await waitUntil(async () => (await hub.admin.get(ManagedTokens, { namespace: NAMESPACE, name: 'short' })).status?.rotations === 1);
    const requests = [...(await hub.audit.requests()), ...(await two().audit.requests())];

    expect(requests.sort()).toEqual([
      'create serviceaccounts/token',
      'create subjectaccessreviews',
      'update managedtokens/status',
      'update secrets',
    ]);
    expect([await isAccepted(next, two()), await isAccepted(token, two())]).toEqual([true, true]);
  });

  it('writes only the Lease after a restart with nothing due', async () => {
    await app.stop();
    const sites = [hub, ...targets];
    await Promise.all(sites.map(({ audit }) => audit.skip()));
    const lease = { namespace: 'purser-system', name: 'purser' };
    const { spec } = await hub.admin.get(Leases, lease);
    app = await startPurser();
    const renewals = new Set<string>();
    await waitUntil(async () => {
      const { spec: now } = await hub.admin.get(Leases, lease);
      if (now?.leaseTransitions !== spec?.leaseTransitions) renewals.add(now?.renewTime ?? '');
      return renewals.size >= 3;
    });
    const writes = await hub.audit.writes();
    const others = writes.filter((write) => write !== 'update clusters/status');
    expect(others).toEqual([]);
    // A heartbeat of each Cluster, every five minutes, may occur during the test.
    expect(writes.length).toBeLessThanOrEqual(targets.length);
    expect((await Promise.all(targets.map(({ audit }) => audit.requests()))).flat()).toEqual([]);
  });

  it.each([
    ['edited', () => hub.admin.patch(Secrets, { namespace: NAMESPACE, name: 'first' }, { data: { token: base64('garbage') } })],
    ['deleted', () => hub.admin.delete(Secrets, { namespace: NAMESPACE, name: 'first' })],
  ])('issues one new token after the Secret was %s', async (_, damage) => {
    const token = await waitForToken('first');
    await one().audit.skip();
    await damage();
    await waitUntil(
      async () => ![token, '', 'garbage'].includes(await readToken('first')),
      () => readConditions('first'),
    );
    const next = await waitForToken('first');

    expect(await isAccepted(next, one())).toBe(true);
    expect((await one().audit.requests()).filter((each) => each === 'create serviceaccounts/token')).toHaveLength(1);
  });

  it('keeps the token while the target is frozen during a rotation, and rotates it afterwards', async () => {
    const token = await waitForToken('first');
    one().cluster.pause();
    await hub.admin.patch(
      ManagedTokens,
      { namespace: NAMESPACE, name: 'first' },
      { metadata: { annotations: { 'tokens.purser.dev/rotate': 'now' } } },
    );
    await waitUntil(
      async () => (await readConditions('first')) === 'Ready=True/Issued RotationFailing=True/ClusterTimeout',
      () => readConditions('first'),
    );
    expect(await readToken('first')).toBe(token);
    one().cluster.resume();
    const next = await waitForRenewal('first', token);
    await waitUntil(async () => (await readConditions('first')) === 'Ready=True/Issued RotationFailing=False/Issued');
    expect(await isAccepted(next, one())).toBe(true);
  });

  it('removes the Secret after the permission is withdrawn, and creates a new one when the permission is granted again', async () => {
    await hub.admin.delete(ClusterRoleBindings, { name: 'issue-one' });
    await waitUntil(
      async () => (await readConditions('first')) === 'Ready=False/Forbidden',
      () => readConditions('first'),
    );
    expect(await readToken('first')).toBe('');
    await allow('one');
    expect(await isAccepted(await waitForToken('first'), one())).toBe(true);
  });

  it('revokes tokens by annotation and by deletion', async () => {
    await createManagedToken('contractor', 'two', { revocation: 'BoundSecret' });
    const token = await waitForToken('contractor');
    await hub.admin.patch(
      ManagedTokens,
      { namespace: NAMESPACE, name: 'contractor' },
      { metadata: { annotations: { 'tokens.purser.dev/revoke': 'leaked' } } },
    );
    await waitUntil(async () => !(await isAccepted(token, two())));
    const next = await waitForRenewal('contractor', token);
    expect(await isAccepted(next, two())).toBe(true);
    await hub.admin.delete(ManagedTokens, { namespace: NAMESPACE, name: 'contractor' });
    await waitUntil(async () => !(await isAccepted(next, two())));
    await waitUntil(async () => (await readToken('contractor')) === '');
    const { items } = await two().admin.list(Secrets, { namespace: 'deploy' });
    expect(items).toEqual([]);
  });

  it('issues a new token after the service account is re-created and a TokenReview fails', async () => {
    await app.stop();
    app = await startPurser({ verifyIntervalMs: VERIFY_MS });
    const account = { namespace: 'deploy', name: 'deployer' };
    const token = await waitForToken('first');
    await one().admin.delete(ServiceAccounts, account);
    await one().admin.create(ServiceAccounts, { metadata: account });
    const next = await waitForRenewal('first', token);

    expect(await isAccepted(next, one())).toBe(true);
    const { metadata } = await one().admin.get(ServiceAccounts, account);
    // The status is written after the Secret.
    await waitUntil(async () => {
      const { status } = await hub.admin.get(ManagedTokens, { namespace: NAMESPACE, name: 'first' });
      return status?.serviceAccountUID === metadata.uid;
    });
  });

  it('issues tokens for a private cluster through the proxy of its credential, and recovers after the proxy was stopped', async () => {
    const roots = getCACertificates('default');
    const authority = createAuthority(Date.now());
    const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
    setDefaultCACertificates([...roots, authority.certificate]);
    const { port: targetPort } = two().cluster;
    const startProxy = (port = 0) =>
      startConnectProxy((host) => (host === `${PRIVATE_NAME}:${targetPort}` ? targetPort : undefined), { tls: { cert, key }, port });
    let proxy = await startProxy();
    const { port } = proxy;
    try {
      await app.stop();
      app = await startPurser({ probeIntervalMs: 1_000 });
      const url = `https://${PRIVATE_NAME}:${targetPort}`;
      await allow('private');
      await register('private', two(), url);
      await waitForReachable('False', /^(DNSFailed|Timeout)$/);
      await register('private', two(), url, { proxy: `https://purser:pass-of-proxy@localhost:${port}` });
      await createManagedToken('private', 'private', { revocation: 'BoundSecret' });
      const token = await waitForToken('private');
      expect(await isAccepted(token, two())).toBe(true);

      await proxy.close();
      await waitForReachable('False', /^ProxyUnreachable$/);
      const rotate = { metadata: { annotations: { 'tokens.purser.dev/rotate': 'now' } } };
      await hub.admin.patch(ManagedTokens, { namespace: NAMESPACE, name: 'private' }, rotate);
      await waitUntil(async () => (await readConditions('private')).includes('RotationFailing=True'));
      proxy = await startProxy(port);
      await waitForReachable('True', /^Responding$/);
      expect(await isAccepted(await waitForRenewal('private', token), two())).toBe(true);

      const lists = await Promise.all([hub.admin.list(Clusters), hub.admin.list(ManagedTokens), hub.admin.list(Events)]);
      const secret = new RegExp(`pass-of-proxy|(localhost|127\\.0\\.0\\.1):${port}`);
      expect([...logged, JSON.stringify(lists)].filter((text) => secret.test(text))).toEqual([]);
    } finally {
      await app.stop();
      await proxy.close();
      setDefaultCACertificates(roots);
    }
  });

  it('writes no token to status, events or logs', async () => {
    const lists = await Promise.all([hub.admin.list(ManagedTokens), hub.admin.list(Events)]);
    const output = [...logged, JSON.stringify(lists)].join('\n');
    const leaked = [...seen].filter(
      (token) => output.includes(token.slice(-24)) || output.includes(token.slice(token.lastIndexOf('.') + 1).slice(0, 24)),
    );

    expect([seen.size > 6, leaked]).toEqual([true, []]);
  });
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
