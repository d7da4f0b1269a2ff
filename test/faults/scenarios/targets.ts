// Faults of target clusters and of the connections to them.

import { base64, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { isTokenRequest } from '../proxy/rules.ts';
import { rotateAndWait, type Scenario } from '../scenario.ts';
import { DEPLOY, requestPurserToken, writeCredential } from '../seed.ts';

/**
 * Limit for a change to Ready, in milliseconds: two probe intervals of ten seconds, a retry of five seconds for each, and a margin of ten
 * seconds.
 */
const DETECTION_MS = 40_000;

function waitForReady(bench: Bench, status: 'True' | 'False', limitMs = DETECTION_MS): Promise<number> {
  return bench.expect('I9', `Ready of cluster one becomes ${status}`, limitMs, async () =>
    (await bench.readClusterCondition('one')).startsWith(status),
  );
}

async function takeTargetDown(bench: Bench): Promise<void> {
  const { proxy } = bench.one;
  await proxy.setTcpMode('refuse');
  await bench.rotate('one-2');
  await waitForReady(bench, 'False');
  await proxy.setTcpMode('pass');
  await waitForReady(bench, 'True');
  // A dropped request fails during issuance, a lost response after it.
  for (const action of [{ type: 'drop' }, { type: 'lose' }] as const) {
    const rule = proxy.addRule(isTokenRequest, action, 1);
    await bench.rotate('one-2');
    await bench.expect('I10', 'Purser requests a token', 30_000, async () => rule.hits() === 1);
    await proxy.setTcpMode('refuse');
    await bench.wait(4_000);
    await proxy.setTcpMode('pass');
  }
}

async function delayResponses(bench: Bench): Promise<void> {
  bench.one.proxy.addRule(() => true, { type: 'delay', ms: 29_000 });
  await rotateAndWait(bench, 35_000, ['one-2', 'one-3', 'two-2']);
}

async function flapTarget(bench: Bench): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    await bench.one.proxy.setTcpMode('refuse');
    await rotateAndWait(bench, 5_000, ['one-2']);
    await bench.one.proxy.setTcpMode('pass');
    await bench.wait(5_000);
  }
}

async function stallConnections(bench: Bench): Promise<void> {
  await bench.one.proxy.setTcpMode('silent');
  await bench.rotate('one-2');
  await bench.expect('I9', 'RotationFailing becomes True', 30_000, async () =>
    (await bench.readCondition('one-2', 'RotationFailing')).startsWith('True'),
  );
  await waitForReady(bench, 'False');
}

async function throttleTokenRequests(bench: Bench): Promise<void> {
  for (const after of ['1', '30', '86400', 'soon', '-5']) {
    const rule = bench.one.proxy.addRule(isTokenRequest, { type: 'respond', status: 429, headers: { 'retry-after': after } });
    await rotateAndWait(bench, 6_000, ['one-2']);
    rule.remove();
    if (rule.hits() > 12) bench.recordViolation('I10', `Retry-After ${after}: ${rule.hits()} requests in 6 s`);
  }
}

async function failAllRequests(bench: Bench): Promise<void> {
  const { proxy } = bench.one;
  const rule = proxy.addRule(() => true, { type: 'respond', status: 500 });
  await rotateAndWait(bench, 40_000, ['one-2', 'one-3']);
  if (rule.hits() > 80) bench.recordViolation('I10', `${rule.hits()} requests to a failing cluster in 40 s`);
}

async function rotateServerCertificate(bench: Bench): Promise<void> {
  bench.one.proxy.rotateCertificate('same authority');
  const before = await bench.readToken('one-2');
  await bench.rotate('one-2');
  await bench.waitForRenewal('one-2', before, 10_000);
}

async function rotateCa(bench: Bench): Promise<void> {
  const { hub, one } = bench;
  one.proxy.rotateCertificate('new authority');
  await bench.rotate('one-2');
  await waitForReady(bench, 'False');
  const failing = await bench.readCondition('one-2', 'RotationFailing');
  if (!failing.startsWith('True')) bench.recordViolation('I9', `rotation with an unknown CA: RotationFailing=${failing}`);
  const caBundle = base64(one.proxy.ca);
  await writeCredential(hub, 'one', one, { token: await requestPurserToken(one) });
  await hub.api.patch(paths.clusters('one'), { spec: { orchestratorApiEndpoints: { caBundle } } });
  await bench.expect('I10', 'the token rotates with the new caBundle', 10_000, async () =>
    (await bench.readCondition('one-2', 'RotationFailing')).startsWith('False'),
  );
}

async function rotateCredential(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await writeCredential(bench.hub, 'one', bench.one, { token: await requestPurserToken(bench.one) });
    const before = await bench.readToken('one-2');
    await bench.rotate('one-2');
    await bench.waitForRenewal('one-2', before, 10_000);
  }
}

async function rejectCredential(bench: Bench): Promise<void> {
  await writeCredential(bench.hub, 'one', bench.one, { token: 'invalid' });
  await bench.rotate('one-2');
  const isRejected = async () => (await bench.readClusterCondition('one', 'Authorized')) === 'False/CredentialRejected';
  await bench.expect('I9', 'a condition reports the rejected credential', DETECTION_MS, isRejected);
  await bench.wait(10_000);
  await writeCredential(bench.hub, 'one', bench.one, { token: await requestPurserToken(bench.one) });
}

/** Withdraws the credential's permission for one service account, and grants it again. */
async function restrictCredential(bench: Bench): Promise<void> {
  const path = paths.rbac('clusterroles', 'purser');
  const { api } = bench.one;
  const role = (await api.get(path)) as unknown as { readonly rules: readonly { readonly resources: readonly string[] }[] };
  const others = (await bench.listTokenNames('one')).filter((name) => name !== 'one-2');
  const rules = role.rules.map((rule) => (rule.resources.includes('serviceaccounts/token') ? { ...rule, resourceNames: others } : rule));
  await api.patch(path, { rules });
  await bench.rotate('one-2', 'one-3');
  const isReported = async () => (await bench.readCondition('one-2', 'RotationFailing')).startsWith('True/TargetForbidden');
  await bench.expect('I9', 'a condition reports the missing permission', 20_000, isReported);
  await bench.expect('I5', 'tokens for other service accounts are renewed', 20_000, async () =>
    (await bench.readCondition('one-3', 'RotationFailing')).startsWith('False'),
  );
  await api.patch(path, { rules: role.rules });
}

async function takeAllTargetsDown(bench: Bench): Promise<void> {
  for (const { proxy } of bench.targets) await proxy.setTcpMode('refuse');
  await rotateAndWait(bench, 60_000, ['one-2', 'two-2']);
}

async function renewWithSlowResponses(bench: Bench): Promise<void> {
  bench.one.proxy.addRule(() => true, { type: 'delay', ms: 5_000 });
  const before = await bench.readToken('one-2');
  await bench.rotate('one-2');
  await bench.waitForRenewal('one-2', before, 30_000);
}

/** Alters, redirects and truncates responses from the target. */
async function alterResponses(bench: Bench): Promise<void> {
  const alterations: readonly ((body: string) => string)[] = [
    (body) => body.slice(0, body.length / 2),
    () => '{}',
    () => 'null',
    (body) => body.replace(/"token":"[^"]*"/, '"token":"aaa.bbb.ccc"'),
    (body) => body.replace(/"expirationTimestamp":"[^"]*"/, '"expirationTimestamp":"1970-01-01T00:00:00Z"'),
    (body) => body.replace(/"expirationTimestamp":"[^"]*"/, '"expirationTimestamp":"9999-99-99"'),
  ];
  for (const alter of alterations) {
    const rule = bench.one.proxy.addRule(isTokenRequest, { type: 'alter', alter }, 1);
    await bench.rotate('one-2');
    await bench.expect('I10', 'Purser requests a token', 30_000, async () => rule.hits() === 1);
  }
  for (const status of [301, 307]) {
    bench.one.proxy.addRule(isTokenRequest, { type: 'respond', status, headers: { location: `${bench.two.proxy.url}/stolen` } }, 2);
    await rotateAndWait(bench, 3_000, ['one-2']);
  }
  bench.one.proxy.addRule(isTokenRequest, { type: 'truncate', bytes: 40 }, 2);
  await rotateAndWait(bench, 3_000, ['one-3']);
  bench.one.proxy.shapeTraffic({ cutAfterBytes: 6_000 });
  await rotateAndWait(bench, 8_000, ['one-2', 'one-3']);
}

/** Makes the target return the token for another service account, which Purser must not write to the Secret. */
async function returnWrongToken(bench: Bench): Promise<void> {
  const other = await bench.one.api.create(`${paths.serviceAccounts(DEPLOY, 'one-3')}/token`, {
    spec: { audiences: ['https://hub.test'], expirationSeconds: 600 },
  });
  const alter = (body: string) => body.replace(/"token":"[^"]*"/, `"token":"${other.status?.token}"`);
  bench.one.proxy.addRule((request) => isTokenRequest(request) && request.path.includes('/one-2/'), { type: 'alter', alter }, 3);
  await rotateAndWait(bench, 6_000, ['one-2']);
  if ((await bench.readToken('one-2')) === other.status?.token)
    bench.recordViolation('I1', 'the token for another service account was written');
}

export const targetFaults: readonly Scenario[] = [
  { id: 'F8', title: 'target down before, during and after issuance', on: 'one', run: takeTargetDown },
  { id: 'F9', title: 'target takes 29 s for each response', on: 'one', run: delayResponses },
  { id: 'F10', title: 'target flaps, 5 s down and 5 s up', on: 'one', run: flapTarget },
  { id: 'F11', title: 'target accepts connections and does not respond', on: 'one', run: stallConnections },
  {
    id: 'F12',
    title: 'target returns 429 to token requests, with Retry-After 1, 30, 86400 and two invalid values',
    on: 'one',
    run: throttleTokenRequests,
    recoveryMs: 120_000,
  },
  { id: 'F13', title: 'target returns 500 to all requests for 40 s', on: 'one', run: failAllRequests },
  { id: 'F14', title: 'server certificate rotated, same CA', on: 'one', run: rotateServerCertificate },
  { id: 'F15', title: 'CA rotated, caBundle patched later', on: 'one', run: rotateCa },
  { id: 'F16', title: "Purser's credential rotated three times", on: 'one', run: rotateCredential },
  { id: 'F17', title: "Purser's credential rejected (401)", on: 'one', run: rejectCredential },
  { id: 'F18', title: "Purser's credential loses permission for one service account (403)", on: 'one', run: restrictCredential },
  { id: 'F42', title: 'all targets down for 60 s, then available again at the same time', on: 'targets', run: takeAllTargetsDown },
  { id: 'F44', title: 'tokens with the shortest lifetime; target takes 5 s for each response', on: 'one', run: renewWithSlowResponses },
  { id: 'T1', title: 'responses truncated, altered or redirected; connections cut', on: 'one', run: alterResponses },
  { id: 'T2', title: 'responses that contain the token for another service account', on: 'one', run: returnWrongToken },
];
