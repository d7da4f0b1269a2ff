// Faults by people: Secrets, accounts, bound objects, permissions, namespaces, Clusters and CRDs that change or go.

import { readManifests } from '../../../src/kube/manifests.ts';
import { base64, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { accountOf, allow, DEPLOY, GUEST, register, TEAM, untilServed } from '../furnish.ts';
import { restartPlace } from '../place.ts';
import { isTokenRequest } from '../proxy/rules.ts';
import type { Scenario } from '../scenario.ts';

/** Every token is put to its target every 20 s; a server believes what it has seen for another 10 s. */
const VERIFIED_MS = 35_000;

async function secretDeleted(bench: Bench): Promise<void> {
  for (const name of ['one-1', 'two-2']) {
    bench.cause(name, 'Secret deleted');
    bench.excuse(name, ['I1', 'I12'], 15_000, 'Secret deleted');
    const before = await bench.tokenText(name);
    await bench.hub.api.delete(paths.secrets(TEAM, name));
    await bench.renewed(name, before, 10_000);
  }
}

async function secretEdited(bench: Bench): Promise<void> {
  const edits: readonly object[] = [
    { data: { token: base64('garbage') } },
    { data: { token: null } },
    { data: { 'ca.crt': null } },
    { metadata: { annotations: null } },
  ];
  for (const edit of edits) {
    bench.cause('two-3', 'Secret edited');
    bench.excuse('two-3', ['I1', 'I4', 'I12'], 20_000, 'Secret edited');
    await bench.hub.api.patch(paths.secrets(TEAM, 'two-3'), edit);
    await bench.expect('I10', `two-3 is put right after ${JSON.stringify(edit)}`, 20_000, async () => {
      const secret = await bench.secret('two-3');
      return secret?.data?.['ca.crt'] !== undefined && (await bench.unwell()).every((text) => !text.startsWith('two-3'));
    });
    await bench.pass(1_000);
  }
}

async function secretImmutable(bench: Bench): Promise<void> {
  const before = await bench.tokenText('two-2');
  const startedAt = Date.now();
  await bench.hub.api.patch(paths.secrets(TEAM, 'two-2'), { immutable: true });
  bench.excuse('two-2', ['I1', 'I12'], 60_000, 'an immutable Secret can only be made anew');
  await bench.rotate('two-2');
  await bench.renewed('two-2', before, 30_000);
  const asked = bench.history.entries.filter(
    (entry) => entry.type === 'request' && entry.at > startedAt && entry.path.includes('/two-2/token'),
  );
  if (asked.length > 3) bench.violation('I2', `${asked.length} tokens for an immutable Secret`);
}

async function accountDeleted(bench: Bench): Promise<void> {
  const { api } = bench.one;
  bench.excuse('one-3', ['I1', 'I9', 'I12'], 120_000, 'account deleted');
  bench.cause('one-3', 'account deleted');
  await api.delete(paths.accounts(DEPLOY, 'one-3'));
  await bench.rotate('one-3');
  const told = async () =>
    (await bench.condition('one-3', 'RotationFailing')) === 'True/ServiceAccountNotFound' ||
    (await bench.condition('one-3')).startsWith('False');
  await bench.expect('I9', 'the missing account is told', VERIFIED_MS, told);
  const startedAt = Date.now();
  await bench.pass(15_000);
  const asked = bench.history.entries.filter(
    (entry) => entry.type === 'request' && entry.at > startedAt && entry.path.includes('/one-3/token'),
  );
  if (asked.length > 8) bench.violation('I10', `${asked.length} requests for a missing account in 15 s`);
  bench.cause('one-3', 'account made anew');
  await api.apply(paths.accounts(DEPLOY, 'one-3'), accountOf(DEPLOY, 'one-3'));
}

async function accountRecreated(bench: Bench): Promise<void> {
  const { api } = bench.one;
  const before = await bench.tokenText('one-2');
  bench.excuse('one-2', ['I1', 'I9', 'I12'], VERIFIED_MS, 'account made anew');
  bench.cause('one-2', 'account made anew');
  await api.delete(paths.accounts(DEPLOY, 'one-2'));
  await api.apply(paths.accounts(DEPLOY, 'one-2'), accountOf(DEPLOY, 'one-2'));
  await bench.renewed('one-2', before, VERIFIED_MS);
}

async function boundObjectGone(bench: Bench): Promise<void> {
  const { api } = bench.two;
  const name = 'two-bound';
  const pod = { metadata: { name, namespace: DEPLOY }, spec: { serviceAccountName: name, containers: [{ name: 'c', image: 'none' }] } };
  await api.apply(paths.accounts(DEPLOY, name), accountOf(DEPLOY, name));
  const { metadata } = await api.create(paths.pods(DEPLOY), pod);
  await bench.createToken(name, 'two', { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid: metadata.uid } });
  await bench.expect('I10', 'a bound token', 20_000, async () => (await bench.condition(name)).startsWith('True'));
  bench.excuse(name, ['I1', 'I9', 'I12'], 300_000, 'bound object deleted');
  bench.excuse(name, ['I2'], 60_000, 'one attempt for each object');
  await api.delete(paths.pods(DEPLOY, name), { gracePeriodSeconds: 0 });
  const told = async () =>
    (await bench.condition(name)).startsWith('False') || (await bench.condition(name, 'RotationFailing')) === 'True/BoundObjectNotFound';
  await bench.expect('I9', 'the missing object is told', VERIFIED_MS, told);
  await api.create(paths.pods(DEPLOY), pod);
  await bench.pass(5_000);
  if ((await bench.condition(name)).startsWith('True')) bench.violation('I9', 'ready with another object of the same name');
  await bench.deleteToken(name);
}

async function signingKeyRotated(bench: Bench): Promise<void> {
  bench.excuse('*', ['I1', 'I9', 'I12'], 90_000, 'signing key rotated');
  for (const name of await bench.tokens('two')) bench.cause(name, 'signing key rotated');
  await bench.two.cluster.rotateSigningKey();
  bench.two.api.reconnect();
  bench.two.proxy.upstreamRestarted();
  await register(bench.hub, 'two', bench.two);
  const texts = await Promise.all((await bench.tokens('two')).map((name) => bench.tokenText(name)));
  const areNew = async () =>
    (await Promise.all((await bench.tokens('two')).map((name) => bench.tokenText(name)))).every(
      (text) => text !== '' && !texts.includes(text),
    );
  await bench.expect('I10', 'all tokens are issued anew', VERIFIED_MS + 25_000, areNew);
}

/** What is granted counts, not what was asked for; and no lifetime is too long. */
async function lifetimes(bench: Bench): Promise<void> {
  const asked = { 'two-week': 604_800, 'one-month': 90 * 86_400, 'one-year': 365 * 86_400, 'one-age': 2 ** 32 };
  for (const [name, expirationSeconds] of Object.entries(asked)) {
    await bench.createToken(name, name.slice(0, 3), { expirationSeconds, rotation: { renewBefore: '20%', suspend: false } });
  }
  await bench.expect('I10', 'long tokens', 20_000, async () => (await bench.unwell()).length === 0);
  const startedAt = Date.now();
  await bench.pass(15_000);
  for (const name of Object.keys(asked)) {
    const { status, metadata } = await bench.token(name);
    const next = Date.parse((status as { readonly nextRotationTime?: string }).nextRotationTime ?? '');
    if (!(next < Date.parse(status?.expirationTimestamp ?? '')) || next < Date.now()) bench.violation('I9', `${name} rotates at ${next}`);
    const mine = bench.history.entries.filter(
      (entry) => entry.type === 'request' && entry.at > startedAt && entry.path.includes(`/${metadata.name}/`),
    );
    if (mine.length > 1) bench.violation('I3', `${mine.length} requests for ${name}, which is not due`);
    await bench.deleteToken(name);
  }
}

/** Kubernetes would make a year of it; a second more is taken, so that the refusal is about the number. */
async function extendedLifetime(bench: Bench): Promise<void> {
  const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: 'any', uid: 'no-such-pod' };
  const refusal = await bench.createToken('two-3607', 'two', { expirationSeconds: 3_607, boundObjectRef }).then(
    () => 'none',
    (error: unknown) => String(error),
  );
  if (!refusal.includes('3607')) bench.violation('I9', `lifetime of 3607 s for a token bound to a Pod: ${refusal}`);
  await bench.createToken('two-3608', 'two', { expirationSeconds: 3_608, boundObjectRef });
  await bench.deleteToken('two-3608');
}

async function withdrawn(bench: Bench): Promise<void> {
  const name = 'two-guest';
  await allow(bench.hub, GUEST, true);
  bench.history.add({ type: 'grant', token: name, allowed: true });
  await bench.createToken(name, 'two', { requesterServiceAccountName: GUEST });
  await bench.expect('I10', 'a token for the guest', 20_000, async () => (await bench.tokenText(name)) !== '');
  bench.history.add({ type: 'grant', token: name, allowed: false });
  await allow(bench.hub, GUEST, false);
  await bench.expect('I11', 'the Secret goes', 42_000, async () => (await bench.tokenText(name)) === '');
  await bench.rotate(name);
  await bench.pass(4_000);
  bench.history.add({ type: 'grant', token: name, allowed: true });
  bench.cause(name, 'allowed again');
  await allow(bench.hub, GUEST, true);
  await bench.expect('I10', 'the Secret returns', 20_000, async () => (await bench.tokenText(name)) !== '');
  await bench.deleteToken(name);
}

async function namespaceDeleted(bench: Bench): Promise<void> {
  const namespace = 'team-gone';
  const { api } = bench.hub;
  await api.create(paths.namespaces(), { metadata: { name: namespace } });
  await api.apply(paths.accounts(namespace, 'default'), accountOf(namespace, 'default'));
  const name = 'one-gone';
  await bench.one.api.apply(paths.accounts(DEPLOY, name), accountOf(DEPLOY, name));
  bench.cause(name, 'created');
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
  await bench.expect('I10', 'a token there', 20_000, async () => (await api.find(paths.secrets(namespace, name))) !== undefined);
  bench.excuse(name, ['I1', 'I12'], 120_000, 'namespace deleted');
  await bench.one.proxy.tcp('refuse');
  await api.delete(paths.namespaces(namespace));
  await bench.pass(5_000);
  await bench.one.proxy.tcp('pass');
  await bench.expect('I10', 'the namespace goes', 90_000, async () => (await api.find(paths.namespaces(namespace))) === undefined);
  await api.delete(paths.rbac('clusterrolebindings', namespace));
}

async function clusterDeleted(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const before = await bench.tokenText('one-2');
  await api.delete(paths.clusters('one'));
  await bench.rotate('one-2');
  const told = async () => (await bench.condition('one-2', 'RotationFailing')) === 'True/ClusterNotFound';
  await bench.expect('I9', 'the missing Cluster is told', 20_000, told);
  if ((await bench.tokenText('one-2')) !== before) bench.violation('I12', 'the token went with its Cluster');
  for (const name of await bench.tokens('one')) bench.cause(name, 'another Cluster of that name');
  bench.excuse('*', ['I1', 'I12'], 30_000, 'another Cluster of that name');
  await register(bench.hub, 'one', bench.one);
}

/** All ManagedTokens go with their CRD, and with them their Secrets. */
async function crdRemoved(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const name = 'managedtokens.tokens.purser.dev';
  const before = await api.list(paths.tokens(TEAM));
  for (const { metadata } of before) bench.excuse(metadata.name, ['I1', 'I4', 'I9', 'I12'], 180_000, 'CRD removed');
  await api.delete(paths.crds(name));
  await bench.expect('I10', 'the CRD goes', 60_000, async () => (await api.find(paths.crds(name))) === undefined);
  await bench.pass(8_000);
  if (!bench.purser.isRunning) bench.violation('I10', 'Purser ended without its CRD');
  for (const crd of await readManifests('crds')) await api.apply(paths.crds(crd.metadata.name ?? ''), crd);
  await untilServed(api);
  for (const { metadata, spec } of before) {
    bench.cause(metadata.name, 'created');
    const object = {
      apiVersion: 'tokens.purser.dev/v1alpha1',
      kind: 'ManagedToken',
      metadata: { name: metadata.name, namespace: TEAM },
      spec,
    };
    await api.create(paths.tokens(TEAM), object);
  }
}

async function crdUpgraded(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const path = paths.crds('managedtokens.tokens.purser.dev');
  const crd = JSON.parse(JSON.stringify(await api.get(path))) as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: { properties: Record<string, object> } } } } }[] };
  };
  const version = crd.spec.versions[0];
  if (version !== undefined) version.schema.openAPIV3Schema.properties.spec.properties['another'] = { type: 'string', default: 'x' };
  bench.history.add({ type: 'quiet', begins: true });
  await api.update(path, crd);
  await bench.pass(8_000);
  bench.history.add({ type: 'quiet', begins: false });
  for (const manifest of await readManifests('crds')) await api.apply(paths.crds(manifest.metadata.name ?? ''), manifest);
}

async function targetReplaced(bench: Bench): Promise<void> {
  bench.cause('*', 'target restarted');
  const rule = bench.one.proxy.rule(isTokenRequest, { type: 'hold' }, 1);
  await bench.rotate('one-2');
  await bench.expect('I10', 'a token is asked for', 20_000, async () => rule.hits() === 1);
  await restartPlace(bench.one, 'kill');
}

export const objectFaults: readonly Scenario[] = [
  { id: 'F19', title: 'token Secret deleted by hand', on: 'purser', run: secretDeleted },
  { id: 'F20', title: 'token Secret edited, keys and record removed', on: 'purser', run: secretEdited },
  { id: 'F20b', title: 'token Secret made immutable', on: 'purser', run: secretImmutable },
  { id: 'F21', title: 'service account deleted', on: 'purser', run: accountDeleted },
  { id: 'F22', title: 'service account deleted and re-created', on: 'purser', run: accountRecreated },
  { id: 'F23', title: 'bound Pod deleted and re-created under the same name', on: 'purser', run: boundObjectGone },
  { id: 'F24', title: 'signing key of the target rotated', on: 'purser', run: signingKeyRotated, recoveryMs: 90_000 },
  { id: 'F25, F43', title: 'lifetimes capped at 2 h; lifetimes of 90 days, a year and 2³² s', on: 'purser', run: lifetimes },
  { id: 'F26', title: 'lifetime of 3607 s for a token bound to a Pod', on: 'purser', run: extendedLifetime },
  { id: 'F45', title: 'hub namespace deleted while the target is down', on: 'purser', run: namespaceDeleted },
  { id: 'F46', title: 'Cluster with valid tokens deleted and re-created', on: 'purser', run: clusterDeleted },
  { id: 'F48', title: 'CRD with an additional field applied', on: 'purser', run: crdUpgraded },
  { id: 'O1', title: 'permission withdrawn and granted again', on: 'purser', run: withdrawn },
  { id: 'O2', title: 'target killed during a token request', on: 'one', run: targetReplaced },
  { id: 'F47', title: 'CRD removed and installed again', on: 'purser', run: crdRemoved },
];
