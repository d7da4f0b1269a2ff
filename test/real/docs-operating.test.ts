// Runs the commands of docs/operating.md in order on real clusters: install, register, access the façade, renew a credential,
// uninstall; also those of docs/providers.md that need no provider. Checks its manifests with the programs that read them.

import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { createAuthority, issueServerCertificate } from '../../src/std/x509/certificates.ts';
import { stepsOf } from '../docs/documents.ts';
import { runSteps } from '../docs/shell.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { requirePrometheus } from '../support/prometheus.ts';
import { readText } from '../support/repository.ts';
import { run } from '../support/run.ts';
import { type DeployedObject, type Deployment, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';
import { blocksIn, runBlock, startDocsWorld } from './docs-world.ts';

const [install, register, replace, show, renew, revoke, recreate, uninstall] = blocksIn('hub');
const [hubItself] = blocksIn('hub-itself');
const [calls, plugin, certificate] = blocksIn('facade');
const [orphans] = blocksIn('orphans');
const [audiences] = blocksIn('providers');

const docs = startDocsWorld();

describe('commands in docs/operating.md', () => {
  it('installs Purser', async () => {
    expect(await runBlock(install, docs.shell)).toEqual([]);
    const deployment = (await renderKustomization('base')).find(isDeployment) as Deployment;
    await docs.world.startDeployed(deployment, '--hub-cluster=hub');
  });

  it('registers a cluster', async () => {
    expect(await runBlock(register, docs.shell)).toEqual([]);
  });

  it('registers the hub', async () => {
    expect(await runBlock(hubItself, docs.shell)).toEqual([]);
    await docs.world.waitFor('cluster.registry.purser.dev', 'hub', '--for=condition=Ready');
    // The objects of deploy/base stay unchanged.
    expect(await docs.world.kubectl('get', 'ns', 'purser-system', '-o', 'yaml')).toContain('enforce: restricted');
    expect(await docs.world.kubectl('get', 'sa', 'purser', '-n', 'purser-system', '-o', 'yaml')).toContain(
      'automountServiceAccountToken: false',
    );
  });

  it('calls the façade with curl and kubectl', async () => {
    await docs.world.kubectlOnTarget('apply', '-f', 'REPO/deploy/target/deployer.yaml');
    await docs.world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
    await docs.world.waitFor('mt', '-n', 'team-a', 'ci-deployer', '--for=condition=Ready');
    const { facade } = JSON.parse(await readFile(join(docs.world.hub.folder, 'purser.ready.json'), 'utf8')) as { facade: string };
    const localCalls = calls && { ...calls, text: calls.text.replace('https://purser.purser-system.svc', facade) };
    // Reviews are cached for ten seconds.
    await waitUntil(async () => (await runBlock(localCalls, docs.shell)).length === 0);
  });

  it('authenticates kubectl with purser credential', async () => {
    const { world, shell } = docs;
    const { facade } = JSON.parse(await readFile(join(world.hub.folder, 'purser.ready.json'), 'utf8')) as { facade: string };
    expect(await runBlock(plugin, { ...shell, env: { ...shell.env, PURSER_FACADE: facade } })).toEqual([]);
  });

  it('authenticates kubectl with tokens from the façade', async () => {
    const { world, shell } = docs;
    const { facade } = JSON.parse(await readFile(join(world.hub.folder, 'purser.ready.json'), 'utf8')) as { facade: string };
    const [kubeconfig] = blocksIn('kubeconfig');
    const [file, hub] = ['target-1.kubeconfig', 'person.kubeconfig'].map((name) => join(shell.folder, name));
    const replacements: readonly (readonly [string, string])[] = [
      ['https://purser.purser-system.svc', facade],
      ['https://target-1.example.com:6443', world.target.url],
      ['/etc/purser', shell.folder],
    ];
    await writeFile(
      file ?? '',
      replacements.reduce((text, [from, to]) => text.replaceAll(from, to), kubeconfig?.text ?? ''),
    );
    await writeFile(join(shell.folder, 'target-1-ca.crt'), world.target.ca);
    const admin = parse(await readFile(await world.hub.kubeconfig('admin'), 'utf8')) as { readonly clusters: readonly [object] };
    const user = { token: await world.createToken('team-a', 'ci') };
    const config = { clusters: [{ ...admin.clusters[0], name: 'hub' }], users: [{ name: 'me', user }] };
    await writeFile(hub ?? '', JSON.stringify({ ...config, contexts: [{ name: 'hub', context: { cluster: 'hub', user: 'me' } }] }));
    const whoami = ['--context', 'target-1', 'auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'];

    expect(await run('kubectl', whoami, { ...shell.env, KUBECONFIG: `${hub}:${file}` })).toMatchObject({
      code: 0,
      output: 'system:serviceaccount:deploy:deployer',
      stderr: '',
    });
  });

  it('replaces the certificate of the façade', async () => {
    const authority = createAuthority(Date.now());
    const issued = issueServerCertificate(authority, ['purser.example.com', 'purser.purser-system.svc'], Date.now());
    const files = { 'tls.crt': issued.certificate, 'tls.key': issued.key, 'ca.crt': authority.certificate };
    for (const [name, text] of Object.entries(files)) await writeFile(join(docs.shell.folder, name), text);
    expect(await runBlock(certificate, docs.shell)).toEqual([]);
  });

  it('creates an Ingress that the hub accepts', async () => {
    const ingress = parse(readText('deploy/components/ingress/ingress.yaml')) as object;
    expect(await docs.world.dryRun([ingress], 'create')).toMatchObject({ code: 0, stderr: '' });
  });

  it('shows the next renewal of a credential', async () => {
    const message = async () => (await runSteps(show === undefined ? [] : stepsOf(show), docs.shell))[0];
    await waitUntil(async () => /is valid until \S+; next renewal at/.test((await message())?.printed ?? ''));
  });

  it('replaces a credential manually, and with a command', async () => {
    expect(await runBlock(replace, docs.shell)).toEqual([]);
    expect(await runBlock(renew, docs.shell)).toEqual([]);
    await docs.world.waitFor('cluster.registry.purser.dev', 'target-1', '--for=condition=Authorized');
  });

  it('revokes earlier tokens of a credential', async () => {
    const token = await docs.world.renewedToken('target-1');
    expect(await runBlock(revoke, docs.shell)).toEqual([]);
    await docs.world.waitUntilRejected(token);
  });

  it('re-creates the service account, and continues with the next credential', async () => {
    const credential = async () =>
      await docs.world.kubectl('get', 'secret/target-1-credential', '-n', 'purser-system', '-o', 'jsonpath={.data.token}');
    const token = Buffer.from(await credential(), 'base64').toString();
    expect(await runBlock(recreate, docs.shell)).toEqual([]);
    await docs.world.waitUntilRejected(token);
    await docs.world.waitFor('cluster.registry.purser.dev', 'target-1', '--for=condition=Authorized');
  });

  it('uninstalls Purser without leaving objects behind', async () => {
    await docs.world.kubectl('apply', '-f', 'REPO/deploy/samples/revocable.yaml');
    await docs.world.waitFor('mt', '-n', 'team-c', 'contractor', '--for=condition=Ready');
    const uid = await docs.world.kubectl('get', 'mt', 'contractor', '-n', 'team-c', '-o', 'jsonpath={.metadata.uid}');
    const owner = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'contractor', uid };
    await applyTenantSecret({ name: 'labelled', namespace: 'team-c', labels: { 'tokens.purser.dev/managed-by': 'purser' } });
    await applyTenantSecret({ name: 'unlabelled', namespace: 'team-c', ownerReferences: [owner] });

    expect(await runBlock(uninstall, docs.shell)).toEqual([]);
    expect(await docs.world.kubectl('get', 'crd,clusterrole,clusterrolebinding,ns', '-o', 'name')).not.toContain('purser');
    expect(await docs.world.kubectl('get', 'secrets', '-n', 'team-c', '-o', 'name')).toBe('secret/labelled\n');
    expect(await docs.world.kubectlOnTarget('get', 'secrets,clusterroles,namespaces', '-A', '-o', 'name')).not.toContain('purser');
  });

  it('removes the objects that remain if Purser is uninstalled before its ManagedTokens', async () => {
    await docs.world.stopDeployed();
    await docs.world.kubectl('apply', '-f', 'REPO/crds');
    await docs.world.kubectl('wait', '--for=condition=Established', 'crd', '--all', '--timeout=60s');
    const stuck = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      metadata: { name: 'stuck', namespace: 'default', finalizers: ['tokens.purser.dev/anchor'] },
      spec: { clusterName: 'target-1', serviceAccount: { namespace: 'deploy', name: 'deployer' }, audiences: ['a'] },
    };
    const file = join(docs.shell.folder, 'stuck.json');
    await writeFile(file, JSON.stringify(stuck));
    await docs.world.kubectl('apply', '-f', file);
    await docs.world.kubectlOnTarget('create', 'secret', 'generic', 'purser-1', '-n', 'deploy');
    await docs.world.kubectlOnTarget('label', 'secret', 'purser-1', '-n', 'deploy', 'tokens.purser.dev/managed-by=purser');

    expect(await runBlock(orphans, docs.shell)).toEqual([]);
    await docs.world.kubectl('delete', 'mt', '-n', 'default', 'stuck', '--timeout=30s');
    expect(await docs.world.kubectlOnTarget('get', 'secrets', '-n', 'deploy', '-o', 'name')).toBe('');
  });
});

describe('commands in docs/providers.md', () => {
  it('shows the audiences, the lifetime of tokens and the issuer of a target', async () => {
    const [result] = await runSteps(audiences === undefined ? [] : stepsOf(audiences), docs.shell);
    expect(result).toMatchObject({ code: 0, printed: expect.stringMatching(/^\[https:\/\/\S+\] \d{4}-\S+Z\n\{"issuer":"https:/) });
  });
});

describe('manifests in docs/operating.md', () => {
  it('contains a kustomization that applies its documented changes', async () => {
    const [kustomization] = blocksIn('kustomization');
    const folder = join(docs.shell.folder, '../our-purser');
    await mkdir(folder);
    await writeFile(join(folder, 'kustomization.yaml'), kustomization?.text ?? '');
    const { output, stderr } = await run(kubeBinaries()?.kubectl ?? 'kubectl', ['kustomize', folder]);
    const objects = parseAllDocuments(output).map((document) => document.toJS() as DeployedObject);
    const textOf = (kind: string) => JSON.stringify(objects.filter((object) => object.kind === kind));

    expect(stderr).toBe('');
    expect(textOf('Deployment')).toContain('"registry.example.com/purser:0.1.0"');
    expect(textOf('Deployment')).toContain('"--max-token-lifetime=8h"');
    expect(textOf('Deployment')).toContain('{"name":"HTTPS_PROXY","value":"http://proxy.example.com:8443"}');
    expect(textOf('NetworkPolicy')).toContain('"ports":[{"port":443},{"port":6443},{"port":8443}]');
    expect(textOf('NetworkPolicy')).toContain('"kubernetes.io/metadata.name":"observability"');
    expect(textOf('ClusterRoleBinding')).toContain('"system:serviceaccounts:observability"');
    for (const kind of ['ServiceMonitor', 'PrometheusRule']) expect(textOf(kind)).toContain('"release":"kube-prometheus-stack"');
  });

  it('contains a valid configuration of Prometheus', async () => {
    requirePrometheus();
    const [config] = blocksIn('prometheus');
    const file = join(docs.shell.folder, 'prometheus.yml');
    await writeFile(file, config?.text ?? '');
    expect(await run('promtool', ['check', 'config', '--syntax-only', file])).toMatchObject({ code: 0 });
  });
});

async function applyTenantSecret(metadata: object): Promise<void> {
  const file = join(docs.shell.folder, 'tenant-secret.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'Secret', metadata }));
  await docs.world.kubectl('apply', '-f', file);
}
