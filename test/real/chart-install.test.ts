// Installs, upgrades and uninstalls the Helm chart on a real hub.

import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { helmBinary } from '../support/kube-binaries.ts';
import { type RunResult, run } from '../support/run.ts';
import { type Deployment, DeployWorld, waitUntil } from './deploy-world.ts';

const CHART = join(import.meta.dirname, '../../deploy/chart');
const PURSER_OBJECTS = ['-l', 'app.kubernetes.io/name=purser', '-o', 'name'];
const CLUSTER_WIDE = 'clusterroles,clusterrolebindings,priorityclasses,validatingadmissionpolicies,validatingadmissionpolicybindings';
let world: DeployWorld;

beforeAll(async () => {
  world = await DeployWorld.startEmpty();
});

afterAll(() => world?.stop());

async function helm(...args: readonly string[]): Promise<RunResult> {
  const kubeconfig = await world.hub.kubeconfig('admin');
  return await run(helmBinary() ?? 'helm', ['--kubeconfig', kubeconfig, '--namespace', 'purser-system', ...args]);
}

const listNames = async (...args: readonly string[]) => (await world.kubectl('get', ...args)).split('\n').filter((line) => line !== '');
const getDeployment = async (name: string) =>
  JSON.parse(await world.kubectl('get', '-n', 'purser-system', 'deployment', name, '-o', 'json')) as Deployment;

it('rejects helm install without the namespace purser-system', async () => {
  expect(await helm('install', 'purser', CHART)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('namespaces "purser-system" not found'),
  });
});

it('installs the objects that a deployed Purser needs to acquire leadership', async () => {
  await world.kubectl('create', 'namespace', 'purser-system');
  await world.kubectl('label', 'namespace', 'purser-system', 'pod-security.kubernetes.io/enforce=restricted');
  expect(await helm('install', 'purser', CHART)).toMatchObject({ code: 0, stderr: '' });
  const program = await world.startDeployed(await getDeployment('purser'));
  await waitUntil(async () => (await program.output()).includes('acquired leadership'));
  await program.stop();
  expect(await listNames('validatingadmissionpolicies', ...PURSER_OBJECTS)).toEqual(
    ['record', 'repoint'].map((name) => `validatingadmissionpolicy.admissionregistration.k8s.io/purser-${name}`),
  );
  expect(await program.output()).not.toMatch(/"level":"(warn|error|fatal)"/);
});

it('upgrades to separate parts that install the custom resources, without policies and without rejected requests', async () => {
  const values = ['apart=true', 'options.install-crds=true', 'replicas=3', 'admission.enabled=false'].flatMap((each) => ['--set', each]);
  expect(await helm('upgrade', 'purser', CHART, ...values)).toMatchObject({ code: 0, stderr: '' });
  expect(await listNames('deployments', '-n', 'purser-system', ...PURSER_OBJECTS)).toEqual([
    'deployment.apps/purser-controller',
    'deployment.apps/purser-facade',
  ]);
  expect(await listNames('validatingadmissionpolicies,validatingadmissionpolicybindings', ...PURSER_OBJECTS)).toEqual([]);
  const [controller, facade] = [
    await world.startDeployed(await getDeployment('purser-controller')),
    await world.startDeployed(await getDeployment('purser-facade')),
  ];
  await waitUntil(async () => (await controller.output()).includes('acquired leadership'));
  await waitUntil(async () => (await facade.output()).includes('caches synced'));
  const output = (await Promise.all([controller, facade].map((program) => program.output()))).join('\n');
  expect(output).toContain('custom resources installed');
  expect(output.split('\n').filter((line) => /"level":"(warn|error|fatal)"/.test(line))).toEqual([]);
  await world.stopDeployed();
});

it('keeps the custom resources and their objects after uninstall', async () => {
  await world.kubectl('create', 'namespace', 'team-a');
  await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
  expect(await helm('uninstall', 'purser')).toMatchObject({ code: 0 });

  expect(await listNames('deployments,services,serviceaccounts,roles,rolebindings', '-n', 'purser-system', ...PURSER_OBJECTS)).toEqual([]);
  expect(await listNames(CLUSTER_WIDE, ...PURSER_OBJECTS)).toEqual([]);
  expect(await listNames('managedtokens', '-n', 'team-a', '-o', 'name')).toEqual(['managedtoken.tokens.purser.dev/ci-deployer']);
});
