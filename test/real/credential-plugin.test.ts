// `purser kubeconfig` and kubectl with `purser credential`, through the façade of a deployed Purser on real clusters.

import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { newFolder } from '../support/folders.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { type RunResult, run } from '../support/run.ts';
import { AuditLog } from './audit-log.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

const LAUNCHER = join(import.meta.dirname, '../../bin/purser.cjs');
const DEPLOYER = 'system:serviceaccount:deploy:deployer';

let world: DeployWorld;
let folder: string;
let issued: AuditLog;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  await world.register('target-1');
  await world.kubectlOnTarget('create', 'rolebinding', 'view', '-n', 'deploy', '--clusterrole=view', `--serviceaccount=deploy:deployer`);
  await world.kubectl('create', 'serviceaccount', 'caller', '-n', 'team-a');
  await world.apply(permissions('caller'));
  await world.startDeployed((await renderKustomization('base')).find(isDeployment) as Deployment);
  await world.waitFor('-n', 'purser-system', 'configmap/purser-facade-ca', '--for=create');
  await world.waitFor('cluster.registry.purser.dev/target-1', '--for=condition=Ready');
  await world.renewedToken('target-1');
  await waitUntil(async () => (await facadeUrl()) !== '');
  await world.kubectl(
    'patch',
    'configmap',
    'purser-facade-ca',
    '-n',
    'purser-system',
    '-p',
    JSON.stringify({ data: { server: await facadeUrl() } }),
  );
  issued = new AuditLog(world.target.auditLog, 'system:serviceaccount:purser-system:purser');
});

afterAll(() => world?.stop());

beforeEach(async () => {
  folder = await newFolder();
  await symlink(LAUNCHER, join(folder, 'purser'));
  await symlink(process.execPath, join(folder, 'node'));
  await writeKubeconfig();
});

/** Returns the permission to see the cluster and to issue tokens for one service account. */
function permissions(name: string): readonly object[] {
  const rules = [
    { apiGroups: ['registry.purser.dev'], resources: ['clusters'], resourceNames: ['target-1'], verbs: ['get'] },
    { apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], resourceNames: ['target-1/deploy/deployer'], verbs: ['issue'] },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects = [{ kind: 'ServiceAccount', namespace: 'team-a', name }];
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  return [
    { apiVersion, kind: 'ClusterRole', metadata: { name }, rules },
    { apiVersion, kind: 'ClusterRoleBinding', metadata: { name }, roleRef, subjects },
  ];
}

/** Returns the address of the façade; empty before the process is ready. */
async function facadeUrl(): Promise<string> {
  const text = await readFile(join(world.hub.folder, 'purser.ready.json'), 'utf8').catch(() => '{"facade":""}');
  return (JSON.parse(text) as { readonly facade: string }).facade;
}

/** Writes a kubeconfig with contexts of the hub: one with a token, and one with a client certificate. */
async function writeKubeconfig(): Promise<void> {
  const withCertificate = parse(await readFile(await world.hub.kubeconfig('root', ['system:masters']), 'utf8')) as {
    readonly clusters: readonly [{ readonly name: string }];
    readonly users: readonly [{ readonly user: object }];
  };
  const cluster = withCertificate.clusters[0].name;
  const users = [
    { name: 'caller', user: { token: await world.createToken('team-a', 'caller') } },
    { name: 'certificate', user: withCertificate.users[0].user },
  ];
  const contexts = [
    { name: 'hub', context: { cluster, user: 'caller' } },
    { name: 'hub-certificate', context: { cluster, user: 'certificate' } },
  ];
  await writeFile(join(folder, 'config'), JSON.stringify({ ...withCertificate, users, contexts, 'current-context': 'hub' }));
}

function runWith(program: string, args: readonly string[]): Promise<RunResult> {
  const env = { KUBECONFIG: join(folder, 'config'), XDG_CACHE_HOME: join(folder, 'cache'), HOME: folder, NODE_OPTIONS: '' };
  return run(program, args, { ...env, PATH: `${folder}:${process.env['PATH']}` });
}
const purser = (...args: readonly string[]) => runWith(process.execPath, [LAUNCHER, ...args]);
const kubectl = (...args: readonly string[]) => runWith(kubeBinaries()?.kubectl ?? 'kubectl', args);

describe('kubectl with purser credential', () => {
  it('uses a ten-minute token in a context that purser kubeconfig merged', async () => {
    expect(await purser('kubeconfig', 'target-1', 'deploy/deployer', '--merge', '--duration', '10m')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await kubectl('--context', 'target-1', 'get', 'pods')).toEqual({
      code: 0,
      output: '',
      stderr: 'No resources found in deploy namespace.\n',
    });
    expect((await kubectl('--context', 'target-1', 'auth', 'whoami')).output).toContain(DEPLOYER);
    const { users } = parse(await readFile(join(folder, 'config'), 'utf8')) as {
      readonly users: readonly { readonly name: string; readonly user: object }[];
    };
    expect(users.filter(({ name }) => name === 'purser-target-1').map(({ user }) => Object.keys(user))).toEqual([['exec']]);
    const { output } = await purser('credential', 'target-1', 'deploy/deployer', '--context=hub');
    const { status } = JSON.parse(output) as { readonly status: { readonly expirationTimestamp: string } };
    expect(Date.parse(status.expirationTimestamp)).toBeGreaterThan(Date.now());
  });

  it('requests one token for 20 kubectl processes at once', async () => {
    await purser('kubeconfig', 'target-1', 'deploy/deployer', '--merge');
    await issued.skip();
    const results = await Promise.all(Array.from({ length: 20 }, () => kubectl('--context', 'target-1', 'get', 'pods')));
    // On a busy machine, a process that waits for three seconds says so.
    const messages = results.map(({ code, stderr }) => `${code} ${stderr.replace(/^purser: waiting for another process, .+\n/, '')}`);
    expect(new Set(messages)).toEqual(new Set(['0 No resources found in deploy namespace.\n']));
    expect((await issued.requests()).filter((request) => request === 'create serviceaccounts/token')).toHaveLength(1);
  });

  it('replaces a token that the cluster rejects', async () => {
    await purser('kubeconfig', 'target-1', 'deploy/deployer', '--merge');
    await kubectl('--context', 'target-1', 'get', 'pods');
    await world.kubectlOnTarget('delete', 'serviceaccount', 'deployer', '-n', 'deploy');
    await world.kubectlOnTarget('create', 'serviceaccount', 'deployer', '-n', 'deploy');
    const show = () => kubectl('--context', 'target-1', 'get', 'pods');
    // kube-apiserver caches authenticated tokens for some seconds; the plugin does not replace a token of the last ten seconds.
    await waitUntil(async () => (await show()).code !== 0);
    await waitUntil(async () => (await show()).code === 0);
  });

  it('authenticates with a service account on the hub in a context with a client certificate', async () => {
    const rejected = await purser('token', 'target-1', 'deploy/deployer', '--context', 'hub-certificate');
    expect([rejected.code, rejected.stderr]).toEqual([1, expect.stringContaining('Set --service-account NAMESPACE/NAME')]);
    const options = ['--context', 'hub-certificate', '--service-account', 'team-a/caller'];
    expect(await purser('kubeconfig', 'target-1', 'deploy/deployer', '--merge', '--name', 'mine', ...options)).toMatchObject({ code: 0 });
    expect((await kubectl('--context', 'mine', 'auth', 'whoami')).output).toContain(DEPLOYER);
  });

  it('reports a missing permission on one line', async () => {
    const { code, stderr } = await purser('token', 'target-1', 'deploy/default');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^purser: the façade .* issue clusters\/token "target-1\/deploy\/default".*\n$/),
    ]);
  });
});
