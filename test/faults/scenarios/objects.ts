// Changes to objects by users: Secrets, service accounts, bound objects, permissions, namespaces, Clusters and CRDs.

import { readManifests } from '../../../src/kube/manifests.ts';
import { base64, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { restartCluster } from '../bench-cluster.ts';
import { isTokenRequest } from '../proxy/rules.ts';
import type { Scenario } from '../scenario.ts';
import { buildServiceAccount, DEPLOY, GUEST, register, setPermission, TEAM, waitUntilServed } from '../seed.ts';

/** Verification interval of 20 s, 10 s of TokenReview caching in kube-apiserver, and a margin, in milliseconds. */
const VERIFICATION_MS = 35_000;

async function deleteSecrets(bench: Bench): Promise<void> {
  for (const name of ['one-1', 'two-2']) {
    bench.recordCause(name, 'Secret deleted');
    bench.recordExcuse(name, ['I1', 'I12'], 15_000, 'Secret deleted');
    const before = await bench.readToken(name);
    await bench.hub.api.delete(paths.secrets(TEAM, name));
    await bench.waitForRenewal(name, before, 10_000);
  }
}

async function editSecret(bench: Bench): Promise<void> {
  const edits: readonly object[] = [
    { data: { token: base64('garbage') } },
    { data: { token: null } },
    { data: { 'ca.crt': null } },
    { metadata: { annotations: null } },
  ];
  for (const edit of edits) {
    bench.recordCause('two-3', 'Secret edited');
    bench.recordExcuse('two-3', ['I1', 'I4', 'I12'], 20_000, 'Secret edited');
    await bench.hub.api.patch(paths.secrets(TEAM, 'two-3'), edit);
    await bench.expect('I10', `two-3 is repaired after ${JSON.stringify(edit)}`, 20_000, async () => {
      const secret = await bench.findSecret('two-3');
      return secret?.data?.['ca.crt'] !== undefined && (await bench.listProblems()).every((text) => !text.startsWith('two-3'));
    });
    await bench.wait(1_000);
  }
}

async function makeSecretImmutable(bench: Bench): Promise<void> {
  const before = await bench.readToken('two-2');
  const startedAt = Date.now();
  await bench.hub.api.patch(paths.secrets(TEAM, 'two-2'), { immutable: true });
  bench.recordExcuse('two-2', ['I1', 'I12'], 60_000, 'an immutable Secret must be re-created');
  await bench.rotate('two-2');
  await bench.waitForRenewal('two-2', before, 30_000);
  const requests = bench.countRequests(startedAt, (path) => path.includes('/two-2/token'));
  if (requests > 3) bench.recordViolation('I2', `${requests} token requests for an immutable Secret`);
}

async function deleteServiceAccount(bench: Bench): Promise<void> {
  const { api } = bench.one;
  bench.recordExcuse('one-3', ['I1', 'I9', 'I12'], 120_000, 'service account deleted');
  bench.recordCause('one-3', 'service account deleted');
  await api.delete(paths.serviceAccounts(DEPLOY, 'one-3'));
  await bench.rotate('one-3');
  const isReported = async () =>
    (await bench.readCondition('one-3', 'RotationFailing')) === 'True/ServiceAccountNotFound' ||
    (await bench.readCondition('one-3')).startsWith('False');
  await bench.expect('I9', 'a condition reports the missing service account', VERIFICATION_MS, isReported);
  const startedAt = Date.now();
  await bench.wait(15_000);
  const requests = bench.countRequests(startedAt, (path) => path.includes('/one-3/token'));
  if (requests > 8) bench.recordViolation('I10', `${requests} requests for a missing service account in 15 s`);
  bench.recordCause('one-3', 'service account re-created');
  await api.apply(paths.serviceAccounts(DEPLOY, 'one-3'), buildServiceAccount(DEPLOY, 'one-3'));
}

async function recreateServiceAccount(bench: Bench): Promise<void> {
  const { api } = bench.one;
  const before = await bench.readToken('one-2');
  bench.recordExcuse('one-2', ['I1', 'I9', 'I12'], VERIFICATION_MS, 'service account re-created');
  bench.recordCause('one-2', 'service account re-created');
  await api.delete(paths.serviceAccounts(DEPLOY, 'one-2'));
  await api.apply(paths.serviceAccounts(DEPLOY, 'one-2'), buildServiceAccount(DEPLOY, 'one-2'));
  await bench.waitForRenewal('one-2', before, VERIFICATION_MS);
}

async function deleteBoundObject(bench: Bench): Promise<void> {
  const { api } = bench.two;
  const name = 'two-bound';
  const pod = { metadata: { name, namespace: DEPLOY }, spec: { serviceAccountName: name, containers: [{ name: 'c', image: 'none' }] } };
  await api.apply(paths.serviceAccounts(DEPLOY, name), buildServiceAccount(DEPLOY, name));
  const { metadata } = await api.create(paths.pods(DEPLOY), pod);
  await bench.createToken(name, 'two', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid: metadata.uid } });
  await bench.expect('I10', 'the bound token is issued', 20_000, async () => (await bench.readCondition(name)).startsWith('True'));
  bench.recordExcuse(name, ['I1', 'I9', 'I12'], 300_000, 'bound object deleted');
  bench.recordExcuse(name, ['I2'], 60_000, 'one attempt for each object');
  await api.delete(paths.pods(DEPLOY, name), { gracePeriodSeconds: 0 });
  const isReported = async () =>
    (await bench.readCondition(name)).startsWith('False') ||
    (await bench.readCondition(name, 'RotationFailing')) === 'True/BoundObjectNotFound';
  await bench.expect('I9', 'a condition reports the missing bound object', VERIFICATION_MS, isReported);
  await api.create(paths.pods(DEPLOY), pod);
  await bench.wait(5_000);
  if ((await bench.readCondition(name)).startsWith('True')) bench.recordViolation('I9', 'Ready with another object of the same name');
  await bench.deleteToken(name);
}

async function rotateSigningKeyOfTarget(bench: Bench): Promise<void> {
  bench.recordExcuse('*', ['I1', 'I9', 'I12'], 90_000, 'signing key rotated');
  for (const name of await bench.listTokenNames('two')) bench.recordCause(name, 'signing key rotated');
  await bench.two.cluster.rotateSigningKey();
  bench.two.api.reconnect();
  bench.two.proxy.reconnectUpstream();
  await register(bench.hub, 'two', bench.two);
  const texts = await Promise.all((await bench.listTokenNames('two')).map((name) => bench.readToken(name)));
  const areNew = async () =>
    (await Promise.all((await bench.listTokenNames('two')).map((name) => bench.readToken(name)))).every(
      (text) => text !== '' && !texts.includes(text),
    );
  await bench.expect('I10', 'all tokens are reissued', VERIFICATION_MS + 25_000, areNew);
}

/** Requests long lifetimes: rotation follows the granted lifetime, and no lifetime causes extra requests. */
async function requestLongLifetimes(bench: Bench): Promise<void> {
  const requested = { 'two-week': 604_800, 'one-month': 90 * 86_400, 'one-year': 365 * 86_400, 'one-max': 2 ** 32 };
  for (const [name, expirationSeconds] of Object.entries(requested)) {
    await bench.createToken(name, name.slice(0, 3), { expirationSeconds, rotation: { renewBefore: '20%', suspend: false } });
  }
  await bench.expect('I10', 'the tokens with long lifetimes are issued', 20_000, async () => (await bench.listProblems()).length === 0);
  const startedAt = Date.now();
  await bench.wait(15_000);
  for (const name of Object.keys(requested)) {
    const { status, metadata } = await bench.getToken(name);
    const next = Date.parse((status as { readonly nextRotationTime?: string }).nextRotationTime ?? '');
    if (!(next < Date.parse(status?.expirationTimestamp ?? '')) || next < Date.now())
      bench.recordViolation('I9', `${name} rotates at ${next}`);
    const requests = bench.countRequests(startedAt, (path) => path.includes(`/${metadata.name}/`));
    if (requests > 1) bench.recordViolation('I3', `${requests} requests for ${name}, which is not due`);
    await bench.deleteToken(name);
  }
}

/** Requests 3607 s, which Kubernetes extends to a year and the CRD rejects; 3608 s is accepted. */
async function requestExtendedLifetime(bench: Bench): Promise<void> {
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'any', uid: 'no-such-pod' };
  const rejection = await bench.createToken('two-3607', 'two', { expirationSeconds: 3_607, boundObjectRef }).then(
    () => 'none',
    (error: unknown) => String(error),
  );
  if (!rejection.includes('3607')) bench.recordViolation('I9', `lifetime of 3607 s for a token bound to a Pod: ${rejection}`);
  await bench.createToken('two-3608', 'two', { expirationSeconds: 3_608, boundObjectRef });
  await bench.deleteToken('two-3608');
}

async function withdrawPermission(bench: Bench): Promise<void> {
  const name = 'two-guest';
  await setPermission(bench.hub, GUEST, true);
  bench.history.add({ type: 'grant', token: name, allowed: true });
  await bench.createToken(name, 'two', { requesterServiceAccountName: GUEST });
  await bench.expect('I10', 'the guest has a token', 20_000, async () => (await bench.readToken(name)) !== '');
  bench.history.add({ type: 'grant', token: name, allowed: false });
  await setPermission(bench.hub, GUEST, false);
  await bench.expect('I11', 'the Secret is removed', 42_000, async () => (await bench.readToken(name)) === '');
  await bench.rotate(name);
  await bench.wait(4_000);
  bench.history.add({ type: 'grant', token: name, allowed: true });
  bench.recordCause(name, 'permission granted again');
  await setPermission(bench.hub, GUEST, true);
  await bench.expect('I10', 'the Secret is re-created', 20_000, async () => (await bench.readToken(name)) !== '');
  await bench.deleteToken(name);
}

async function deleteNamespace(bench: Bench): Promise<void> {
  const namespace = 'team-gone';
  const { api } = bench.hub;
  await api.create(paths.namespaces(), { metadata: { name: namespace } });
  await api.apply(paths.serviceAccounts(namespace, 'default'), buildServiceAccount(namespace, 'default'));
  const name = 'one-gone';
  await bench.one.api.apply(paths.serviceAccounts(DEPLOY, name), buildServiceAccount(DEPLOY, name));
  bench.recordCause(name, 'created');
  await api.create(paths.rbac('clusterrolebindings'), {
    metadata: { name: namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'issue-default' },
    subjects: [{ kind: 'ServiceAccount', namespace, name: 'default' }],
  });
  const spec = {
    clusterName: 'one',
    serviceAccount: { namespace: DEPLOY, name },
    audiences: ['https://hub.test'],
    expirationSeconds: 600,
    revocation: 'BoundSecret',
  };
  await api.create(paths.tokens(namespace), {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: { name, namespace },
    spec,
  });
  await bench.expect(
    'I10',
    `the token in ${namespace} is issued`,
    20_000,
    async () => (await api.find(paths.secrets(namespace, name))) !== undefined,
  );
  bench.recordExcuse(name, ['I1', 'I12'], 120_000, 'namespace deleted');
  await bench.one.proxy.setTcpMode('refuse');
  await api.delete(paths.namespaces(namespace));
  await bench.wait(5_000);
  await bench.one.proxy.setTcpMode('pass');
  await bench.expect(
    'I10',
    `namespace ${namespace} is removed`,
    90_000,
    async () => (await api.find(paths.namespaces(namespace))) === undefined,
  );
  await api.delete(paths.rbac('clusterrolebindings', namespace));
}

async function deleteCluster(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const before = await bench.readToken('one-2');
  await api.delete(paths.clusters('one'));
  await bench.rotate('one-2');
  const isReported = async () => (await bench.readCondition('one-2', 'RotationFailing')) === 'True/ClusterNotFound';
  await bench.expect('I9', 'a condition reports the missing Cluster', 20_000, isReported);
  if ((await bench.readToken('one-2')) !== before) bench.recordViolation('I12', 'the token was removed with its Cluster');
  for (const name of await bench.listTokenNames('one')) bench.recordCause(name, 'Cluster re-created');
  bench.recordExcuse('*', ['I1', 'I12'], 30_000, 'Cluster re-created');
  await register(bench.hub, 'one', bench.one);
}

/** Removes the CRD, which deletes all ManagedTokens and their Secrets. */
async function removeCrd(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const name = 'managedtokens.tokens.purser.dev';
  const before = await api.list(paths.tokens(TEAM));
  for (const { metadata } of before) bench.recordExcuse(metadata.name, ['I1', 'I4', 'I9', 'I12'], 180_000, 'CRD removed');
  await api.delete(paths.crds(name));
  await bench.expect('I10', 'the CRD is removed', 60_000, async () => (await api.find(paths.crds(name))) === undefined);
  await bench.wait(8_000);
  if (!bench.purser.isRunning) bench.recordViolation('I10', 'Purser exited without its CRD');
  for (const crd of await readManifests('crds')) await api.apply(paths.crds(crd.metadata.name ?? ''), crd);
  await waitUntilServed(api);
  for (const { metadata, spec } of before) {
    bench.recordCause(metadata.name, 'created');
    const object = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      metadata: { name: metadata.name, namespace: TEAM },
      spec,
    };
    await api.create(paths.tokens(TEAM), object);
  }
}

async function upgradeCrd(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const path = paths.crds('managedtokens.tokens.purser.dev');
  const crd = JSON.parse(JSON.stringify(await api.get(path))) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } } }[] };
  };
  const version = crd.spec.versions[0];
  if (version !== undefined) version.schema.openAPIV3Schema.properties.spec.properties['another'] = { type: 'string', default: 'x' };
  bench.history.add({ type: 'quiet', begins: true });
  await api.update(path, crd);
  await bench.wait(8_000);
  bench.history.add({ type: 'quiet', begins: false });
  for (const manifest of await readManifests('crds')) await api.apply(paths.crds(manifest.metadata.name ?? ''), manifest);
}

async function killTargetDuringRequest(bench: Bench): Promise<void> {
  bench.recordCause('*', 'target restarted');
  const rule = bench.one.proxy.addRule(isTokenRequest, { type: 'hold' }, 1);
  await bench.rotate('one-2');
  await bench.expect('I10', 'Purser requests a token', 20_000, async () => rule.hits() === 1);
  await restartCluster(bench.one, 'kill');
}

export const objectFaults: readonly Scenario[] = [
  { id: 'F19', title: 'token Secret deleted manually', on: 'purser', run: deleteSecrets },
  { id: 'F20', title: 'token Secret edited, keys and record removed', on: 'purser', run: editSecret },
  { id: 'F20b', title: 'token Secret made immutable', on: 'purser', run: makeSecretImmutable },
  { id: 'F21', title: 'service account deleted', on: 'purser', run: deleteServiceAccount },
  { id: 'F22', title: 'service account deleted and re-created', on: 'purser', run: recreateServiceAccount },
  { id: 'F23', title: 'bound Pod deleted and re-created under the same name', on: 'purser', run: deleteBoundObject },
  { id: 'F24', title: "target's signing key rotated", on: 'purser', run: rotateSigningKeyOfTarget, recoveryMs: 90_000 },
  {
    id: 'F25, F43',
    title: 'lifetime of a week that the target caps at 2 h; lifetimes of 90 days, a year and 2³² s',
    on: 'purser',
    run: requestLongLifetimes,
  },
  { id: 'F26', title: 'lifetime of 3607 s for a token bound to a Pod', on: 'purser', run: requestExtendedLifetime },
  { id: 'F45', title: 'hub namespace deleted while the target is down', on: 'purser', run: deleteNamespace },
  { id: 'F46', title: 'Cluster with valid tokens deleted and re-created', on: 'purser', run: deleteCluster },
  { id: 'F48', title: 'CRD with an additional field applied', on: 'purser', run: upgradeCrd },
  { id: 'O1', title: 'permission withdrawn and granted again', on: 'purser', run: withdrawPermission },
  { id: 'O2', title: 'target killed during a token request', on: 'one', run: killTargetDuringRequest },
  { id: 'F47', title: 'CRD removed and reinstalled', on: 'purser', run: removeCrd },
];
