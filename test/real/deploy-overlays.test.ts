// Runs Purser from the overlays on a real hub: separate parts, named namespaces, both combined, and installation of the custom
// resources by Purser. Compares granted with used permissions.

import { cp, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import type { Program } from '../support/processes.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { findGrants, findUnused, type PermissionUse, readUse } from './permission-use.ts';

let world: DeployWorld;

afterEach(() => world?.stop());

const userOf = (name: string) => `system:serviceaccount:purser-system:${name}`;

/** Starts Purser from an overlay, with or without the admission policies, and registers a target. */
async function deploy(path: string, policies: 'with policies' | 'without policies'): Promise<readonly Program[]> {
  world = await DeployWorld.start(path);
  if (policies === 'with policies') await world.enforcePolicies();
  await world.register('target-1');
  const programs: Program[] = [];
  for (const deployment of (await renderKustomization(path)).filter(isDeployment)) programs.push(await world.startDeployed(deployment));
  return programs;
}

const DEPLOY = join(import.meta.dirname, '../../deploy');

/** Copies the example for named namespaces, as docs/operating.md describes, on top of the other variants. Returns its path from `deploy`. */
async function writeCombinedOverlay(): Promise<string> {
  const folder = join(await newFolder(), 'overlay');
  await cp(join(DEPLOY, 'overlays/namespaces'), folder, { recursive: true });
  const file = join(folder, 'kustomization.yaml');
  const [apart, credentials] = ['overlays/apart', 'components/credential-namespaces'].map((path) => relative(folder, join(DEPLOY, path)));
  const example = await readFile(file, 'utf8');
  await writeFile(file, `${example.replace('../../base', apart ?? '')}components: [${credentials}]\n`);
  return relative(DEPLOY, folder);
}

/** Moves the credential of a target to another namespace. */
async function moveCredential(name: string, namespace: string): Promise<void> {
  const token = (await world.kubectlOnTarget('create', 'token', 'purser', '-n', 'purser-system')).trim();
  const pins = { server: world.target.url, 'ca.crt': world.target.ca, cluster: name };
  const keys = Object.entries({ token, ...pins }).map(([key, value]) => `--from-literal=${key}=${value}`);
  await world.kubectl('create', 'secret', 'generic', `${name}-credential`, '-n', namespace, ...keys);
  const spec = { authInfo: { controller: { namespace } } };
  await world.kubectl('patch', `cluster.registry.purser.dev/${name}`, '--type=merge', '-p', JSON.stringify({ spec }));
  await world.kubectl('delete', 'secret', `${name}-credential`, '-n', 'purser-system');
}

/** Returns the log lines about failures and rejected requests. */
async function errorLines(program: Program): Promise<readonly string[]> {
  return (await program.output()).split('\n').filter((line) => /"level":"(warn|error|fatal)"|\b403\b|[Ff]orbidden/.test(line));
}

/**
 * Waits for the token of a sample, then binds, rotates, re-creates, moves and deletes the token. Runs a set, and replaces and retires
 * Purser's credential.
 */
async function exerciseToken(credentialNamespace = 'purser-system'): Promise<void> {
  const token = ['-n', 'team-a', 'mt/ci-deployer'];
  const patch = (spec: object) => world.kubectl('patch', ...token, '--type=merge', '-p', JSON.stringify({ spec }));
  await world.waitFor(...token, '--for=condition=Ready');
  await patch({ revocation: 'BoundSecret' });
  await world.kubectl('annotate', ...token, 'tokens.purser.dev/rotate=1');
  await world.waitFor(...token, '--for=jsonpath={.status.lastRotateRequest}=1');
  await world.kubectl('delete', '-n', 'team-a', 'secret', 'ci-deployer');
  await world.waitFor('-n', 'team-a', 'secret/ci-deployer', '--for=create');
  await world.waitFor('cluster.registry.purser.dev', 'target-1', '--for=condition=Ready');
  await world.kubectl('create', '-n', 'team-a', 'secret', 'generic', 'taken');
  await patch({ secret: { name: 'taken' } });
  await world.waitFor(...token, '--for=jsonpath={.status.conditions[0].reason}=SecretConflict');
  await patch({ secret: { name: 'free' } });
  await world.waitFor('-n', 'team-a', 'secret/ci-deployer', '--for=delete');
  await world.kubectl('delete', ...token, '--timeout=60s');
  await world.exerciseSet();
  await world.replaceCredential('target-1', credentialNamespace);
  await world.retireCredential('target-1', credentialNamespace);
}

/** Requests all lists of the façade of a Deployment, until each responds with 200. */
async function listAll(name: string, headers: Readonly<Record<string, string>>): Promise<void> {
  for (const plural of ['clusters', 'managedtokens']) {
    const list = async () => (await world.request([name, 'facade'], `GET /auth/v1/${plural}`, { headers })).status;
    await waitUntil(async () => (await list().catch(() => 0)) === 200);
  }
}

/** Requests metrics as a user without permission, until the response is 403. */
async function expectMetricsForbidden(name: string): Promise<void> {
  const headers = { authorization: `Bearer ${await world.createToken('team-a', 'ci')}` };
  await waitUntil(async () => (await world.request([name, 'metrics'], 'GET /metrics', { headers }).catch(() => undefined))?.status === 403);
}

/** Returns the permissions for cases that these tests do not cover, as in deploy.test.ts. */
const expectedUnused = (tokenScope: string, ...eventScopes: readonly string[]): readonly string[] => [
  // Used for an event that repeats within minutes, such as the event of a second renewal.
  ...eventScopes.map((scope) => `patch events ${scope}`),
  `record managedtokens ${tokenScope}`,
  'update configmaps purser-facade-ca in purser-system (purser-controller)',
  // Used when many tokens lose permission at once.
  'update configmaps purser-removal-limit in purser-system (purser-controller)',
];

describe('overlays', () => {
  it('runs the façade and the controller of overlays/apart without rejected requests or unused permissions', async () => {
    await deploy('overlays/apart', 'with policies');
    await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
    await exerciseToken();
    await expectMetricsForbidden('purser-controller');
    const headers = { authorization: `Bearer ${await world.createToken('team-a', 'ci')}` };
    await listAll('purser-facade', headers);
    const [controller, facade] = await Promise.all(
      ['controller', 'facade'].map((name) => readUse(world.hub.auditLog, userOf(`purser-${name}`))),
    );

    expect([controller?.rejected, facade?.rejected]).toEqual([[], []]);
    const objects = await renderKustomization('overlays/apart');
    expect(findUnused(findGrants(objects, 'purser-facade'), facade as PermissionUse)).toEqual([]);
    expect(findUnused(findGrants(objects, 'purser-controller'), controller as PermissionUse)).toEqual(
      expectedUnused('(purser-controller-tokens)'),
    );
  });

  it('runs separate parts for named namespaces, with credentials in another namespace, without rejected requests', async () => {
    const path = await writeCombinedOverlay();
    await deploy(path, 'without policies');
    await moveCredential('target-1', 'fleet');
    await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
    await exerciseToken('fleet');
    const headers = { authorization: `Bearer ${await world.createToken('team-a', 'ci')}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ spec: { audiences: ['https://target.test'] } });
    const line = 'POST /orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const issue = async () => (await world.request(['purser-facade', 'facade'], line, { headers, body })).status;
    await waitUntil(async () => (await issue().catch(() => 0)) === 201);
    await listAll('purser-facade', headers);
    const uses = await Promise.all(['controller', 'facade'].map((name) => readUse(world.hub.auditLog, userOf(`purser-${name}`))));

    expect(uses.map(({ rejected }) => rejected)).toEqual([[], []]);
    const objects = await renderKustomization(path);
    expect(findUnused(findGrants(objects, 'purser-facade'), uses[1] as PermissionUse)).toEqual([]);
    expect(findGrants(objects, 'purser')).toEqual([]);
  });

  it('limits Purser of overlays/namespaces to the named namespaces', async () => {
    const [program] = await deploy('overlays/namespaces', 'with policies');
    for (const name of ['ci-deployer', 'flux']) await world.kubectl('apply', '-f', `REPO/deploy/samples/${name}.yaml`);
    await exerciseToken();
    await expectMetricsForbidden('purser');
    await listAll('purser', { authorization: `Bearer ${await world.createToken('team-a', 'ci')}` });
    const use = await readUse(world.hub.auditLog, userOf('purser'));

    expect(use.rejected).toEqual([]);
    expect(findUnused(findGrants(await renderKustomization('overlays/namespaces'), 'purser'), use)).toEqual(
      expectedUnused('in team-a (purser-controller-tokens)', 'in team-a (purser-controller-tokens)'),
    );
    expect(await errorLines(program as Program)).toEqual([]);
    expect(await world.kubectl('get', '-n', 'team-b', 'secrets', '-o', 'name')).toBe('');
    expect(await world.kubectl('get', '-n', 'team-b', 'mt/flux-target-1', '-o', 'jsonpath={.status}')).toBe('');
    const canRead = (namespace: string) => world.kubectl('auth', 'can-i', 'get', 'secrets', '-n', namespace, `--as=${userOf('purser')}`);
    expect(await canRead('team-a')).toBe('yes\n');
    await expect(canRead('team-b')).rejects.toThrow('can-i');
  });
});

describe('Purser without custom resources', () => {
  const withoutCrds = async (path: string) => (await renderKustomization(path)).filter(({ kind }) => kind !== 'CustomResourceDefinition');
  const isServing = async (program: Program) => (await program.output()).includes('caches synced');

  it('logs the command that installs the custom resources, and starts to work when they exist', async () => {
    const objects = await withoutCrds('base');
    world = await DeployWorld.startWith(objects);
    const program = await world.startDeployed(objects.find(isDeployment) as Deployment);
    await waitUntil(async () => (await program.output()).includes('kubectl apply -f crds'));
    expect(await isServing(program)).toBe(false);
    await world.kubectl(
      'apply',
      '-f',
      'REPO/crds/clusters.registry.purser.dev.yaml',
      '-f',
      'REPO/crds/managedtokens.tokens.purser.dev.yaml',
      '-f',
      'REPO/crds/managedtokensets.tokens.purser.dev.yaml',
    );
    await waitUntil(async () => await isServing(program));
    await world.register('target-1');
    await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
    await world.waitFor('-n', 'team-a', 'mt/ci-deployer', '--for=condition=Ready');
  });

  it('installs the custom resources with --install-crds', async () => {
    const objects = await withoutCrds('overlays/install-crds');
    world = await DeployWorld.startWith(objects);
    const deployment = objects.find(isDeployment) as Deployment;
    // The custom resources already exist when the second process starts.
    for (const name of ['purser', 'purser-again']) {
      const program = await world.startDeployed({ ...deployment, metadata: { ...deployment.metadata, name } });
      await waitUntil(async () => await isServing(program));
      expect(await errorLines(program)).toEqual([]);
    }
    const { rejected, used } = await readUse(world.hub.auditLog, userOf('purser'));

    expect(rejected).toEqual([]);
    const uses = used.filter(({ resource }) => resource === 'customresourcedefinitions').map(({ verb, name }) => `${verb} ${name}`);
    const names = ['clusters.registry.purser.dev', 'managedtokens.tokens.purser.dev', 'managedtokensets.tokens.purser.dev'];
    expect(new Set(uses)).toEqual(new Set(names.map((name) => `patch ${name}`)));
  });
});
