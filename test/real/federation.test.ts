// Federation on real servers: a target that trusts the hub with the printed configuration, and a hostile server. The controller and the
// façade run with their own service accounts, and no credential of the target is stored.

import { readFile, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { sendRequest } from '../support/api-request.ts';
import { newFolder } from '../support/folders.ts';
import { startWireServer, type WireServer } from '../support/wire-server.ts';
import { DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { findGrants, findUnused, type PermissionUse, readUse } from './permission-use.ts';

const SERVICE_ACCOUNT = 'purser-federated';
const SUBJECT = `system:serviceaccount:purser-system:${SERVICE_ACCOUNT}`;
const USER = `hub:${SUBJECT}`;
const DEPLOY = join(import.meta.dirname, '../../deploy');
const LINE = 'POST /orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';

let world: DeployWorld;
let overlay: string;
/** Additional flags of the target's API server, which apply after a restart. */
const flags: string[] = [];

beforeAll(async () => {
  overlay = await writeOverlay();
  world = await DeployWorld.start(overlay, { hub: { issuer: (url) => url }, target: { flags } });
  await world.kubectl(
    'create',
    'clusterrolebinding',
    'purser-issuer-discovery',
    '--clusterrole=system:service-account-issuer-discovery',
    '--group=system:unauthenticated',
  );
  await writeFile(authorityFile(), world.hub.ca);
  await trustHub();
  await world.kubectlOnTarget('apply', '-f', 'REPO/deploy/target/deployer.yaml');
  await world.kubectlOnTarget('apply', '-f', await world.print('target-rbac', '--user', USER));
  await world.createCluster('target-1', world.target, { serviceAccount: SERVICE_ACCOUNT });
  for (const deployment of (await renderKustomization(overlay)).filter(isDeployment)) await world.startDeployed(deployment);
  await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
});

afterAll(() => world?.stop());

/** Combines the overlay with separate parts and the component for federation. Returns its path from `deploy`. */
async function writeOverlay(): Promise<string> {
  const folder = await newFolder();
  const [apart, federation] = ['overlays/apart', 'components/federation'].map((path) => relative(folder, join(DEPLOY, path)));
  await writeFile(join(folder, 'kustomization.yaml'), `resources: [${apart}]\ncomponents: [${federation}]\n`);
  return relative(DEPLOY, folder);
}

function authorityFile(): string {
  return join(world.hub.folder, 'hub-ca.crt');
}

/** Restarts the target with the printed configuration or flags, unmodified. */
async function trustHub(...options: readonly string[]): Promise<void> {
  const { hub, target } = world;
  const required = ['--issuer', hub.url, '--server', target.url, '--ca', authorityFile()];
  const file = await world.print('authentication-config', ...required, ...options);
  const printed = (await readFile(file, 'utf8')).split('\n').filter((line) => line.startsWith('--'));
  flags.splice(0, flags.length, ...(printed.length > 0 ? printed : [`--authentication-config=${file}`]));
  await target.restart();
}

/** Returns a token for a service account on the hub. */
async function mint(serviceAccount: string, audience: string): Promise<string> {
  return (await world.kubectl('create', 'token', serviceAccount, '-n', 'purser-system', `--audience=${audience}`)).trim();
}

/** Returns the user of a token at a server; undefined if the server rejects the token. */
async function userAt({ url, ca }: { readonly url: string; readonly ca: string }, token: string): Promise<string | undefined> {
  const agent = new Agent({ ca });
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
  try {
    const path = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const response = await sendRequest({ url, agent }, 'POST', path, { headers, body });
    expect([201, 401]).toContain(response.status);
    return response.status === 401 ? undefined : JSON.parse(response.body).status.userInfo.username;
  } finally {
    agent.destroy();
  }
}

const audienceOf = (url: string) => `purser:${url}`;
const conditionOf = (cluster: string, type: string, field: string) =>
  world.kubectl('get', `cluster.registry.purser.dev/${cluster}`, '-o', `jsonpath={.status.conditions[?(@.type=="${type}")].${field}}`);

describe('federation with a target that trusts the hub', () => {
  it('issues ManagedTokens for the target without a stored credential', async () => {
    await world.waitFor('cluster.registry.purser.dev/target-1', '--for=condition=Ready');
    await world.waitFor('-n', 'team-a', 'mt/ci-deployer', '--for=condition=Ready');
    const data = await world.kubectl('get', 'secret', '-n', 'team-a', 'ci-deployer', '-o', 'jsonpath={.data.token}');
    expect(await userAt(world.target, Buffer.from(data, 'base64').toString())).toBe('system:serviceaccount:deploy:deployer');
    expect(await conditionOf('target-1', 'CredentialFresh', 'message')).toBe(
      `No credential is stored; Purser requests tokens for service account purser-system/${SERVICE_ACCOUNT} from the hub.`,
    );
    const secrets = JSON.parse(await world.kubectl('get', 'secrets', '-n', 'purser-system', '-o', 'json')) as {
      readonly items: readonly { readonly data?: Readonly<Record<string, string>> }[];
    };
    const stored = secrets.items.flatMap((secret) => Object.values(secret.data ?? {}));
    expect(stored.filter((value) => /eyJ/.test(Buffer.from(value, 'base64').toString()))).toEqual([]);
  });

  it("publishes the audiences of the target's API server, and issues a token for them", async () => {
    const audiences = () => world.kubectl('get', 'cluster.registry.purser.dev/target-1', '-o', 'jsonpath={.status.apiAudiences}');
    await waitUntil(async () => (await audiences()) === '["https://kubernetes.default.svc"]');
    await world.kubectl('patch', '-n', 'team-a', 'mt/ci-deployer', '--type=merge', '-p', '{"spec":{"audiences":null}}');
    const issuedFor = () =>
      world.kubectl(
        'get',
        'secret',
        '-n',
        'team-a',
        'ci-deployer',
        '-o',
        'jsonpath={.metadata.annotations.tokens\\.purser\\.dev/issued-for}',
      );
    await waitUntil(async () => (await issuedFor()).includes('"audiences":["https://kubernetes.default.svc"],"isForAPI":true'));
  });

  it('issues tokens of the target to callers of the façade', async () => {
    const headers = { authorization: `Bearer ${await world.createToken('team-a', 'ci')}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ spec: { audiences: ['https://kubernetes.default.svc'] } });
    const issue = async () => await world.request(['purser-facade', 'facade'], LINE, { headers, body });
    await waitUntil(async () => (await issue().catch(() => undefined))?.status === 201);
    const { token } = JSON.parse((await issue()).body).status;
    expect(await userAt(world.target, token)).toBe('system:serviceaccount:deploy:deployer');
  });

  it('uses all permissions of the component on the hub, and sends no request that the hub or the target forbids', async () => {
    const userOf = (part: string) => `system:serviceaccount:purser-system:purser-${part}`;
    const uses = await Promise.all(['controller', 'facade'].map((part) => readUse(world.hub.auditLog, userOf(part))));
    const objects = await renderKustomization(overlay);
    const unused = ['controller', 'facade'].flatMap((part, index) =>
      findUnused(findGrants(objects, `purser-${part}`), uses[index] as PermissionUse),
    );
    expect(uses.map(({ rejected }) => rejected)).toEqual([[], []]);
    expect(unused.filter((grant) => grant.includes('serviceaccounts/token') || grant.includes('(purser-facade)'))).toEqual([]);
    expect((await readUse(world.target.auditLog, USER)).rejected).toEqual([]);
  });

  it("makes the target accept only tokens of the named service account for the target's address, which the hub rejects", async () => {
    const { hub, target } = world;
    const own = await mint(SERVICE_ACCOUNT, audienceOf(target.url));
    expect([await userAt(target, own), await userAt(hub, own)]).toEqual([USER, undefined]);
    await world.kubectl('create', 'serviceaccount', 'other', '-n', 'purser-system');
    const others = [
      await mint('other', audienceOf(target.url)),
      await mint(SERVICE_ACCOUNT, audienceOf('https://127.0.0.1:1')),
      await mint(SERVICE_ACCOUNT, hub.url),
    ];
    expect(await Promise.all(others.map((token) => userAt(target, token)))).toEqual([undefined, undefined, undefined]);
  });

  it.each([
    ['1.33', ['--kubernetes-version=1.33']],
    ['1.30 with a discovery document elsewhere', ['--kubernetes-version=1.30', 'discovery']],
  ])('prints a configuration for Kubernetes %s that the target accepts unmodified', async (_, options) => {
    const discovery = `--discovery-url=${world.hub.url}/.well-known/openid-configuration`;
    await trustHub(...options.map((option) => (option === 'discovery' ? discovery : option)), '--server=https://target.example.com');
    for (const url of [world.target.url, 'https://target.example.com']) {
      const token = await mint(SERVICE_ACCOUNT, audienceOf(url));
      await waitUntil(async () => (await userAt(world.target, token)) === USER);
    }
    expect(await userAt(world.target, await mint(SERVICE_ACCOUNT, audienceOf('https://127.0.0.1:1')))).toBeUndefined();
  });

  it('prints flags for Kubernetes 1.29 that the target accepts unmodified', async () => {
    await trustHub('--kubernetes-version=1.29');
    const token = await mint(SERVICE_ACCOUNT, audienceOf(world.target.url));
    await waitUntil(async () => (await userAt(world.target, token)) === USER);
    await world.kubectl('create', 'serviceaccount', 'another', '-n', 'purser-system');
    expect(await userAt(world.target, await mint('another', audienceOf(world.target.url)))).toBeUndefined();
  });
});

describe('federation with a hostile server', () => {
  const authority = createAuthority(Date.now());
  let hostile: WireServer & { readonly ca: string };

  beforeAll(async () => {
    await trustHub();
    const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
    const server = await startWireServer((_, reply) => reply.text(200, 'ok'), { tls: { cert, key } });
    hostile = Object.assign(server, { ca: authority.certificate });
  });

  afterAll(() => hostile?.close());

  /** Returns the distinct tokens that the server received. */
  const received = () => [...new Set(hostile.requests.map(({ headers }) => headers.authorization?.replace('Bearer ', '') ?? ''))];

  it('sends nothing to a hostile server if only a Cluster points to it', async () => {
    const endpoints = (url: string, ca: string) => ({
      spec: {
        orchestratorApiEndpoints: {
          caBundle: Buffer.from(ca).toString('base64'),
          serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: url }],
        },
      },
    });
    const repoint = (url: string, ca: string) =>
      world.kubectl('patch', 'cluster.registry.purser.dev/target-1', '--type=merge', '-p', JSON.stringify(endpoints(url, ca)));
    const reason = async (expected: string) =>
      await waitUntil(async () => (await conditionOf('target-1', 'Authorized', 'reason')) === expected);
    await repoint(hostile.url, hostile.ca);
    await reason('EndpointNotPinned');
    await repoint(world.target.url, hostile.ca);
    await reason('CANotPinned');
    await repoint(world.target.url, world.target.ca);
    await reason('PermissionsGranted');
    expect(hostile.requests).toEqual([]);
  });

  it('sends nothing to an address that two Secrets name, nor to the proxy of one, until one of them is deleted', async () => {
    const seen = hostile.requests.length;
    const other = { url: world.target.url, ca: hostile.ca };
    await world.createCluster('copy', other, { serviceAccount: SERVICE_ACCOUNT, proxy: hostile.url });
    for (const name of ['target-1', 'copy'])
      await waitUntil(async () => (await conditionOf(name, 'Ready', 'reason')) === 'EndpointConflict');
    await world.kubectl('delete', 'cluster.registry.purser.dev/copy');
    await world.kubectl('delete', 'secret/copy-credential', '-n', 'purser-system');
    await world.waitFor('cluster.registry.purser.dev/target-1', '--for=condition=Ready');
    expect(hostile.requests).toHaveLength(seen);
  });

  it('sends only a token that target, hub and façade reject to a hostile server that the Secret pins', async () => {
    await world.createCluster('hostile', hostile, { serviceAccount: SERVICE_ACCOUNT });
    await waitUntil(async () => received().length > 0);
    for (const token of received()) {
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
      expect(claims).toMatchObject({ sub: SUBJECT, aud: [audienceOf(hostile.url)] });
      expect([await userAt(world.target, token), await userAt(world.hub, token)]).toEqual([undefined, undefined]);
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const list = await world.request(['purser-facade', 'facade'], 'GET /auth/v1/clusters', { headers });
      const issue = await world.request(['purser-facade', 'facade'], LINE, { headers, body: '{"spec":{"audiences":["a"]}}' });
      expect([list.status, issue.status]).toEqual([401, 401]);
    }
  });

  it('reports issuer and audience of the token if a server rejects all tokens', async () => {
    hostile.handle((_, reply) =>
      reply.json(401, { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 401, reason: 'Unauthorized' }),
    );
    await waitUntil(async () => (await conditionOf('hostile', 'Authorized', 'reason')) === 'CredentialRejected');
    const token = `tokens issued by the hub, with issuer ${world.hub.url} and audience ${audienceOf(hostile.url)}`;
    expect(await conditionOf('hostile', 'Authorized', 'message')).toContain(`rejects Purser's credential: ${token}. Compare `);
  });
});

describe('federation without the role on the hub', () => {
  it('reports the missing permission and the command that prints the role', async () => {
    await world.kubectl('delete', 'rolebinding', 'purser-federation', '-n', 'purser-system');
    await world.kubectl('create', 'serviceaccount', 'unlisted', '-n', 'purser-system');
    await world.createCluster('target-2', { url: 'https://127.0.0.1:1', ca: world.target.ca }, { serviceAccount: 'unlisted' });
    await waitUntil(async () => (await conditionOf('target-2', 'Authorized', 'reason')) === 'HubTokenForbidden');
    expect(await conditionOf('target-2', 'Authorized', 'message')).toMatch(
      /cannot create resource "serviceaccounts\/token" .* Apply the output of purser print hub-rbac --service-account NAME to the hub/,
    );
    await world.kubectl('apply', '-f', await world.print('hub-rbac', '--service-account', SERVICE_ACCOUNT, '--apart'));
  });
});
