// Applies the manifests to a real hub, and checks that Purser works with the granted permissions and uses all of them.

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { readText } from '../support/repository.ts';
import { type DeployedObject, type Deployment, DeployWorld, eventually, isDeployment, kustomized } from './deploy-world.ts';
import { grantsOf, unused, useOf } from './permission-use.ts';

jest.setTimeout(240_000);

const ACCOUNT = 'system:serviceaccount:purser-system:purser';
let world: DeployWorld;

beforeAll(async () => {
  world = await DeployWorld.start('base');
});

afterAll(() => world?.stop());

/** Kinds of other projects. */
const FOREIGN = new Set(['Certificate', 'Issuer', 'PrometheusRule', 'ServiceMonitor']);

describe('manifests', () => {
  it.each([
    'base',
    'overlays/apart',
    'overlays/namespaces',
    'overlays/credential-namespaces',
    'components/admission',
    'components/monitoring',
  ])('applies %s to the API server without a warning', async (path) => {
    const objects = (await kustomized(path)).filter(({ kind }) => !FOREIGN.has(kind));
    expect(await world.offer(objects, 'apply', '--server-side', '--force-conflicts')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(['base', 'overlays/apart'])('creates pods from %s that comply with the restricted Pod Security Standard', async (path) => {
    const deployments = (await kustomized(path)).filter(isDeployment);
    const pods = deployments.map(({ metadata, spec }) => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec: spec.template.spec }));
    expect(await world.offer(pods, 'create')).toMatchObject({ code: 0, stderr: '' });

    const lax = pods.map((pod) => ({ ...pod, spec: { ...pod.spec, hostNetwork: true } }));
    expect((await world.offer(lax, 'create')).stderr).toContain('violates PodSecurity "restricted:latest"');
  });
});

describe('Purser with the permissions of the manifests and the admission policies', () => {
  beforeAll(async () => {
    await world.enforcePolicies();
    const deployment = (await kustomized('base')).find(isDeployment) as Deployment;
    await world.startDeployed(deployment, '--verify-interval=2s');
    await world.register('target-1');
  });

  it('issues the tokens of all samples', async () => {
    for (const name of ['ci-deployer', 'flux', 'argo-cd', 'revocable'])
      await world.kubectl('apply', '-f', `REPO/deploy/samples/${name}.yaml`);
    await world.until('mt', '-A', '--all', '--for=condition=Ready');
    await world.until('cluster.registry.purser.dev', 'target-1', '--for=condition=Ready');
  });

  it('rotates tokens, repairs and moves Secrets, and reports a conflicting Secret', async () => {
    const token = ['-n', 'team-a', 'mt/ci-deployer'];
    const moveTo = (name: string) => world.kubectl('patch', ...token, '--type=merge', '-p', `{"spec":{"secret":{"name":"${name}"}}}`);
    for (const round of [1, 2, 3]) {
      await world.kubectl('annotate', ...token, `tokens.purser.dev/rotate=${round}`, '--overwrite');
      await world.until(...token, `--for=jsonpath={.status.lastRotateRequest}=${round}`);
    }
    await world.kubectl('delete', '-n', 'team-b', 'secret', 'target-1-kubeconfig');
    await world.until('-n', 'team-b', 'secret/target-1-kubeconfig', '--for=create');
    await world.kubectl('create', '-n', 'team-a', 'secret', 'generic', 'taken');
    await moveTo('taken');
    await world.until(...token, '--for=jsonpath={.status.conditions[0].reason}=SecretConflict');
    await moveTo('free');
    await world.until(...token, '--for=condition=Ready');
    await world.until('-n', 'team-a', 'secret/ci-deployer', '--for=delete');
  });

  it('revokes a token by annotation, and deletes the anchor with the ManagedToken', async () => {
    await world.kubectl('annotate', '-n', 'team-c', 'mt/contractor', 'tokens.purser.dev/revoke=1');
    await world.until('-n', 'team-c', 'mt/contractor', '--for=jsonpath={.status.lastRevokeRequest}=1');
    await world.kubectl('delete', '-n', 'team-c', 'mt/contractor', '--timeout=60s');
    expect(await world.onTarget('get', 'secrets', '-n', 'deploy', '-o', 'name')).toBe('');
  });

  it('releases a ManagedToken that was created with our finalizer and annotations', async () => {
    const forged = {
      finalizers: ['tokens.purser.dev/anchor'],
      annotations: { 'tokens.purser.dev/anchors': 'target-1/kube-system' },
    };
    const spec = { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['a'] };
    const kind = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken' };
    await world.apply([{ ...kind, metadata: { name: 'forged', namespace: 'team-b', ...forged }, spec }]);
    await world.kubectl('delete', '-n', 'team-b', 'mt/forged', '--timeout=60s');
  });

  it('serves metrics with the published CA to users with permission only', async () => {
    await world.kubectl('create', 'serviceaccount', 'prometheus', '-n', 'default');
    const token = await world.tokenOf('default', 'prometheus');
    const status = async (authorization: string) =>
      (await world.ask(['purser', 'metrics'], 'GET /metrics', { headers: { authorization } })).status;

    // Purser replaces its initial certificate within seconds.
    await eventually(async () => (await status('').catch(() => 0)) === 401);
    expect(await status(`Bearer ${token}`)).toBe(403);
    const subject = '--serviceaccount=default:prometheus';
    await world.kubectl('create', 'clusterrolebinding', 'scrape', '--clusterrole=purser-metrics-reader', subject);
    // Reviews are cached for ten seconds.
    await eventually(async () => (await status(`Bearer ${token}`)) === 200);
  });

  it('issues tokens, validates dry runs, and lists visible clusters for callers of the façade', async () => {
    const headers = { authorization: `Bearer ${await world.tokenOf('team-a', 'ci')}`, 'content-type': 'application/json' };
    const ask = async (line: string, spec?: object) => {
      const body = spec && JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
      return await world.ask(['purser', 'facade'], line, { headers, ...(body && { body }) });
    };
    const line = 'POST /orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'ghost', uid: '00000000-0000-0000-0000-000000000000' };
    const issued = await ask(line, { audiences: ['https://target.test'] });
    const dryRun = await ask(`${line}?dryRun=All`, { audiences: ['https://target.test'], boundObjectRef });
    const listed = await ask('GET /auth/v1/clusters');

    expect([issued.status, dryRun.status, listed.status]).toEqual([201, 404, 200]);
    expect(JSON.parse(listed.body)).toMatchObject({ items: [{ metadata: { name: 'target-1' } }] });
  });

  it('has no rejected requests and no unused permissions on the hub', async () => {
    const use = await useOf(world.hub.auditLog, ACCOUNT);
    expect(use.rejected).toEqual([]);
    expect(unused(grantsOf(await kustomized('base'), 'purser'), use)).toEqual(HUB_UNUSED);
  });

  it('has no rejected requests and no unused permissions on the target', async () => {
    const use = await useOf(world.target.auditLog, ACCOUNT);
    const objects = parseAllDocuments(readText('deploy/target/access.yaml')).map((document) => document.toJS() as DeployedObject);
    expect(use.rejected).toEqual([]);
    expect(unused(grantsOf(objects, 'purser'), use)).toEqual([]);
  });
});

/** Permissions on the hub for cases that these tests do not cover. */
const HUB_UNUSED: readonly string[] = [
  // Used for an event that repeats within minutes.
  'patch events (purser-controller-tokens)',
  // Checked by the admission policies, which do not appear in the audit log.
  'record managedtokens (purser-controller-tokens)',
  // Used for a CA that is nine years old, and for a certificate that is nine months old.
  'update configmaps purser-facade-ca in purser-system (purser-controller)',
  // Used when many tokens lose permission at once.
  'update configmaps purser-removal-limit in purser-system (purser-controller)',
  'update secrets purser-facade-tls in purser-system (purser-controller)',
];
