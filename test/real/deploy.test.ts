// Applies the manifests to a real hub, and checks that Purser works with the granted permissions and uses all of them.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { readText } from '../support/repository.ts';
import { type DeployedObject, type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { findGrants, findUnused, readUse } from './permission-use.ts';

const PURSER = 'system:serviceaccount:purser-system:purser';
const CLUSTER = 'cluster.registry.purser.dev/target-1';
let world: DeployWorld;

beforeAll(async () => {
  world = await DeployWorld.start('base');
});

afterAll(() => world?.stop());

/** Kinds that other operators define. */
const FOREIGN = new Set(['Certificate', 'Issuer', 'PrometheusRule', 'ServiceMonitor']);

describe('manifests', () => {
  it.each([
    'base',
    'overlays/apart',
    'overlays/namespaces',
    'overlays/credential-namespaces',
    'overlays/federation',
    'components/admission',
    'components/monitoring',
  ])('applies %s to the API server without a warning', async (path) => {
    const objects = (await renderKustomization(path)).filter(({ kind }) => !FOREIGN.has(kind));
    expect(await world.dryRun(objects, 'apply', '--server-side', '--force-conflicts')).toMatchObject({ code: 0, stderr: '' });
  });

  it.each(['base', 'overlays/apart'])('creates pods from %s that comply with the restricted Pod Security Standard', async (path) => {
    const deployments = (await renderKustomization(path)).filter(isDeployment);
    const pods = deployments.map(({ metadata, spec }) => ({ apiVersion: 'v1', kind: 'Pod', metadata, spec: spec.template.spec }));
    expect(await world.dryRun(pods, 'create')).toMatchObject({ code: 0, stderr: '' });

    const lax = pods.map((pod) => ({ ...pod, spec: { ...pod.spec, hostNetwork: true } }));
    expect((await world.dryRun(lax, 'create')).stderr).toContain('violates PodSecurity "restricted:latest"');
  });
});

describe('deployed Purser with the admission policies', () => {
  beforeAll(async () => {
    await world.enforcePolicies();
    const deployment = (await renderKustomization('base')).find(isDeployment) as Deployment;
    await world.startDeployed(deployment, '--verify-interval=2s');
    await world.register('target-1');
  });

  it('issues the tokens of all samples', async () => {
    for (const name of ['ci-deployer', 'flux', 'argo-cd', 'revocable'])
      await world.kubectl('apply', '-f', `REPO/deploy/samples/${name}.yaml`);
    await world.waitFor('mt', '-A', '--all', '--for=condition=Ready');
    await world.waitFor('cluster.registry.purser.dev', 'target-1', '--for=condition=Ready');
  });

  it('creates the ManagedToken of a ManagedTokenSet, and repairs and removes its ClusterProfile', async () => {
    await world.exerciseSet();
  });

  it('rotates tokens, repairs and moves Secrets, and reports a conflicting Secret', async () => {
    const token = ['-n', 'team-a', 'mt/ci-deployer'];
    const moveTo = (name: string) => world.kubectl('patch', ...token, '--type=merge', '-p', `{"spec":{"secret":{"name":"${name}"}}}`);
    for (const round of [1, 2, 3]) {
      await world.kubectl('annotate', ...token, `tokens.purser.dev/rotate=${round}`, '--overwrite');
      await world.waitFor(...token, `--for=jsonpath={.status.lastRotateRequest}=${round}`);
    }
    await world.kubectl('delete', '-n', 'team-b', 'secret', 'target-1-kubeconfig');
    await world.waitFor('-n', 'team-b', 'secret/target-1-kubeconfig', '--for=create');
    await world.kubectl('create', '-n', 'team-a', 'secret', 'generic', 'taken');
    await moveTo('taken');
    await world.waitFor(...token, '--for=jsonpath={.status.conditions[0].reason}=SecretConflict');
    await moveTo('free');
    await world.waitFor(...token, '--for=condition=Ready');
    await world.waitFor('-n', 'team-a', 'secret/ci-deployer', '--for=delete');
  });

  it('revokes a token by annotation, and deletes the anchor with the ManagedToken', async () => {
    await world.kubectl('annotate', '-n', 'team-c', 'mt/contractor', 'tokens.purser.dev/revoke=1');
    await world.waitFor('-n', 'team-c', 'mt/contractor', '--for=jsonpath={.status.lastRevokeRequest}=1');
    await world.kubectl('delete', '-n', 'team-c', 'mt/contractor', '--timeout=60s');
    expect(await world.kubectlOnTarget('get', 'secrets', '-n', 'deploy', '-o', 'name')).toBe('');
  });

  it('releases a ManagedToken that was created with the finalizer and annotations of Purser', async () => {
    const forged = {
      finalizers: ['tokens.purser.dev/anchor'],
      annotations: { 'tokens.purser.dev/anchors': 'target-1/kube-system' },
    };
    const spec = { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['a'] };
    const kind = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken' };
    await world.apply([{ ...kind, metadata: { name: 'forged', namespace: 'team-b', ...forged }, spec }]);
    await world.kubectl('delete', '-n', 'team-b', 'mt/forged', '--timeout=60s');
  });

  it('keeps the ManagedToken of the sample set while its Cluster has the label', async () => {
    const token = ['-n', 'gitops', 'mt/argocd-target-1'];
    await world.kubectl('apply', '-f', 'REPO/deploy/samples/managed-token-set.yaml');
    await world.kubectl('label', 'cluster.registry.purser.dev/target-1', 'env=prod');
    await world.waitFor('-n', 'gitops', 'mts/argocd', '--for=jsonpath={.status.ready}=1');
    await world.waitFor(...token, '--for=condition=Ready');
    await world.kubectl('label', 'cluster.registry.purser.dev/target-1', 'env-');
    await world.waitFor(...token, '--for=delete');
  });

  it('serves metrics with the published CA to users with permission only', async () => {
    await world.kubectl('create', 'serviceaccount', 'prometheus', '-n', 'default');
    const token = await world.createToken('default', 'prometheus');
    const status = async (authorization: string) =>
      (await world.request(['purser', 'metrics'], 'GET /metrics', { headers: { authorization } })).status;

    // Purser replaces its initial certificate within seconds.
    await waitUntil(async () => (await status('').catch(() => 0)) === 401);
    expect(await status(`Bearer ${token}`)).toBe(403);
    const subject = '--serviceaccount=default:prometheus';
    await world.kubectl('create', 'clusterrolebinding', 'scrape', '--clusterrole=purser-metrics-reader', subject);
    // Reviews are cached for ten seconds.
    await waitUntil(async () => (await status(`Bearer ${token}`)) === 200);
  });

  it('issues tokens, validates dry runs, and lists visible clusters for callers of the façade', async () => {
    const headers = { authorization: `Bearer ${await world.createToken('team-a', 'ci')}`, 'content-type': 'application/json' };
    const send = async (line: string, spec?: object) => {
      const body = spec && JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec });
      return await world.request(['purser', 'facade'], line, { headers, ...(body && { body }) });
    };
    const line = 'POST /orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'ghost', uid: '00000000-0000-0000-0000-000000000000' };
    const issued = await send(line, { audiences: ['https://target.test'] });
    const dryRun = await send(`${line}?dryRun=All`, { audiences: ['https://target.test'], boundObjectRef });
    const listed = await send('GET /auth/v1/clusters');

    const tokens = await send('GET /auth/v1/managedtokens');

    expect([issued.status, dryRun.status, listed.status, tokens.status]).toEqual([201, 404, 200, 200]);
    expect(JSON.parse(listed.body)).toMatchObject({ items: [{ metadata: { name: 'target-1' } }] });
  });

  it("renews Purser's credential immediately when an administrator replaces the registered token", async () => {
    const stolen = await world.renewedToken('target-1');
    await world.replaceCredential('target-1');
    await world.waitFor('cluster.registry.purser.dev/target-1', '--for=condition=Ready');
    // A minute later, the target rejects copies of the replaced token.
    await world.waitUntilRejected(stolen);
    expect(await world.kubectlOnTarget('auth', 'whoami', '--token', await world.renewedToken('target-1'))).toContain(
      'purser-system:purser',
    );
    const events = await world.kubectl('get', 'events', '-A', '-o', 'jsonpath={.items[*].reason}');
    expect(events.split(' ')).toContain('CredentialRenewed');
  });

  it("renews and revokes Purser's credential without affecting another hub with the same service account", async () => {
    const other = await DeployWorld.startBeside(world, 'base');
    try {
      await other.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
      await other.register('target-1');
      const terms = JSON.stringify({ spec: { credential: { lifetime: '10m', overlap: '10s' } } });
      for (const hub of [world, other]) await hub.kubectl('patch', CLUSTER, '--type=merge', '-p', terms);
      for (const hub of [world, other, world, other]) {
        const stolen = await hub.renewedToken('target-1');
        await hub.replaceCredential('target-1');
        await hub.waitUntilRejected(stolen);
        for (const each of [world, other]) expect(await isAccepted(each)).toBe(true);
      }
      await requestRevocation(other, 'elsewhere');
      for (const each of [world, other]) {
        expect(await isAccepted(each)).toBe(true);
        await each.waitFor(CLUSTER, '--for=condition=Ready');
        const reasons = await each.kubectl('get', 'events', '-A', '-o', 'jsonpath={.items[*].reason}');
        expect(reasons.split(' ')).not.toContain('CredentialRejected');
      }
    } finally {
      await other.stop();
    }
  });

  it("revokes earlier tokens of Purser's credential immediately when an administrator requests the revocation", async () => {
    const stolen = await world.renewedToken('target-1');
    await requestRevocation(world, 'now');
    await world.waitUntilRejected(stolen);
    await world.waitFor('cluster.registry.purser.dev/target-1', '--for=condition=Ready');
  });

  it('switches back to the registered token with renewal Manual, and renews it again with Auto', async () => {
    const stolen = await world.renewedToken('target-1');
    await world.retireCredential('target-1');
    await world.waitUntilRejected(stolen);
    await world.kubectl('patch', CLUSTER, '--type=merge', '-p', JSON.stringify({ spec: { credential: { renewal: 'Auto' } } }));
    await world.renewedToken('target-1');
    await world.waitFor('cluster.registry.purser.dev/target-1', '--for=condition=Ready');
  });

  it('sends no rejected request and leaves no permission unused on the hub', async () => {
    const use = await readUse(world.hub.auditLog, PURSER);
    expect(use.rejected).toEqual([]);
    expect(findUnused(findGrants(await renderKustomization('base'), 'purser'), use)).toEqual(HUB_UNUSED);
  });

  it('sends no rejected request and leaves no permission unused on the target', async () => {
    const use = await readUse(world.target.auditLog, PURSER);
    const objects = parseAllDocuments(readText('deploy/target/access.yaml')).map((document) => document.toJS() as DeployedObject);
    expect(use.rejected).toEqual([]);
    expect(findUnused(findGrants(objects, 'purser'), use)).toEqual([]);
  });
});

/** Requests the revocation of earlier tokens on the hub of a world, and waits until Purser has completed it. */
async function requestRevocation(hub: DeployWorld, value: string): Promise<void> {
  const [namespace, secret] = [['-n', 'purser-system'], 'secret/target-1-credential'];
  await hub.kubectl('annotate', ...namespace, secret, `registry.purser.dev/revoke-credential=${value}`, '--overwrite');
  const condition = `--for=jsonpath={.metadata.annotations.registry\\.purser\\.dev/revoked}=${value}`;
  await hub.waitFor(...namespace, `${secret}-renewed`, condition);
}

/** Returns true if the target accepts the renewed token on the hub of a world. */
async function isAccepted(hub: DeployWorld): Promise<boolean> {
  const user = await hub.kubectlOnTarget('auth', 'whoami', '--token', await hub.renewedToken('target-1'));
  return user.includes('purser-system:purser');
}

/** Permissions on the hub for cases that these tests do not cover. */
const HUB_UNUSED: readonly string[] = [
  // Checked by the admission policies, which do not appear in the audit log.
  'record managedtokens (purser-controller-tokens)',
  // Used for a CA that is nine years old, and for a certificate that is nine months old.
  'update configmaps purser-facade-ca in purser-system (purser-controller)',
  // Used when many tokens lose permission at once.
  'update configmaps purser-removal-limit in purser-system (purser-controller)',
];
