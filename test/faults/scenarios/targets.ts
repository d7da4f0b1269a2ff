// Faults of target clusters and of the way to them.

import { base64, paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { DEPLOY, giveCredential, purserToken } from '../furnish.ts';
import { isTokenRequest } from '../proxy/rules.ts';
import { during, type Scenario } from '../scenario.ts';

/** Two probes at ten seconds, their second tries of five, and ten more. */
const NOTICED_MS = 40_000;

function turnsReady(bench: Bench, is: 'True' | 'False', limitMs = NOTICED_MS): Promise<number> {
  return bench.expect('I9', `cluster one turns ${is}`, limitMs, async () => (await bench.clusterCondition('one')).startsWith(is));
}

async function down(bench: Bench): Promise<void> {
  const { proxy } = bench.one;
  await proxy.tcp('refuse');
  await bench.rotate('one-2');
  await turnsReady(bench, 'False');
  await proxy.tcp('pass');
  await turnsReady(bench, 'True');
  // While it issues, and after it has.
  for (const action of [{ type: 'drop' }, { type: 'lose' }] as const) {
    const rule = proxy.rule(isTokenRequest, action, 1);
    await bench.rotate('one-2');
    await bench.expect('I10', 'a token is asked for', 30_000, async () => rule.hits() === 1);
    await proxy.tcp('refuse');
    await bench.pass(4_000);
    await proxy.tcp('pass');
  }
}

async function slow(bench: Bench): Promise<void> {
  bench.one.proxy.rule(() => true, { type: 'delay', ms: 29_000 });
  await during(bench, 35_000, ['one-2', 'one-3', 'two-2']);
}

async function flapping(bench: Bench): Promise<void> {
  for (let round = 0; round < 4; round += 1) {
    await bench.one.proxy.tcp('refuse');
    await during(bench, 5_000, ['one-2']);
    await bench.one.proxy.tcp('pass');
    await bench.pass(5_000);
  }
}

async function halfOpen(bench: Bench): Promise<void> {
  await bench.one.proxy.tcp('silent');
  await bench.rotate('one-2');
  await bench.expect('I9', 'the failure is told', 30_000, async () =>
    (await bench.condition('one-2', 'RotationFailing')).startsWith('True'),
  );
  await turnsReady(bench, 'False');
}

async function throttled(bench: Bench): Promise<void> {
  for (const after of ['1', '30', '86400', 'soon', '-5']) {
    const rule = bench.one.proxy.rule(isTokenRequest, { type: 'answer', status: 429, headers: { 'retry-after': after } });
    await during(bench, 6_000, ['one-2']);
    rule.remove();
    if (rule.hits() > 12) bench.violation('I10', `Retry-After ${after}: ${rule.hits()} requests in 6 s`);
  }
}

async function storm(bench: Bench): Promise<void> {
  const { proxy } = bench.one;
  const rule = proxy.rule(() => true, { type: 'answer', status: 500 });
  await during(bench, 40_000, ['one-2', 'one-3']);
  if (rule.hits() > 80) bench.violation('I10', `${rule.hits()} requests to a failing cluster in 40 s`);
}

async function sameAuthority(bench: Bench): Promise<void> {
  bench.one.proxy.rotateCertificate('same authority');
  const before = await bench.tokenText('one-2');
  await bench.rotate('one-2');
  await bench.renewed('one-2', before, 10_000);
}

async function newAuthority(bench: Bench): Promise<void> {
  const { hub, one } = bench;
  one.proxy.rotateCertificate('new authority');
  await bench.rotate('one-2');
  await turnsReady(bench, 'False');
  const failing = await bench.condition('one-2', 'RotationFailing');
  if (!failing.startsWith('True')) bench.violation('I9', `a rotation under another authority: RotationFailing=${failing}`);
  const caBundle = base64(one.proxy.ca);
  await giveCredential(hub, 'one', one, { token: await purserToken(one) });
  await hub.api.patch(paths.clusters('one'), { spec: { orchestratorApiEndpoints: { caBundle } } });
  await bench.expect('I10', 'rotates with the new bundle', 10_000, async () =>
    (await bench.condition('one-2', 'RotationFailing')).startsWith('False'),
  );
}

async function credentialRotated(bench: Bench): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    await giveCredential(bench.hub, 'one', bench.one, { token: await purserToken(bench.one) });
    const before = await bench.tokenText('one-2');
    await bench.rotate('one-2');
    await bench.renewed('one-2', before, 10_000);
  }
}

async function credentialRejected(bench: Bench): Promise<void> {
  await giveCredential(bench.hub, 'one', bench.one, { token: 'worthless' });
  await bench.rotate('one-2');
  const isRejected = async () => (await bench.clusterCondition('one', 'Authorized')) === 'False/CredentialRejected';
  await bench.expect('I9', 'the rejected credential is told', NOTICED_MS, isRejected);
  await bench.pass(10_000);
  await giveCredential(bench.hub, 'one', bench.one, { token: await purserToken(bench.one) });
}

/** The credential may issue for all accounts but one. */
async function lessRights(bench: Bench): Promise<void> {
  const path = paths.rbac('clusterroles', 'purser');
  const { api } = bench.one;
  const role = (await api.get(path)) as unknown as { readonly rules: readonly { readonly resources: readonly string[] }[] };
  const others = (await bench.tokens('one')).filter((name) => name !== 'one-2');
  const rules = role.rules.map((rule) => (rule.resources.includes('serviceaccounts/token') ? { ...rule, resourceNames: others } : rule));
  await api.patch(path, { rules });
  await bench.rotate('one-2', 'one-3');
  const told = async () => (await bench.condition('one-2', 'RotationFailing')).startsWith('True/TargetForbidden');
  await bench.expect('I9', 'the missing right is told', 20_000, told);
  await bench.expect('I5', 'others are renewed', 20_000, async () =>
    (await bench.condition('one-3', 'RotationFailing')).startsWith('False'),
  );
  await api.patch(path, { rules: role.rules });
}

async function allBack(bench: Bench): Promise<void> {
  for (const { proxy } of bench.targets) await proxy.tcp('refuse');
  await during(bench, 60_000, ['one-2', 'two-2']);
}

async function shortAndSlow(bench: Bench): Promise<void> {
  bench.one.proxy.rule(() => true, { type: 'delay', ms: 5_000 });
  const before = await bench.tokenText('one-2');
  await bench.rotate('one-2');
  await bench.renewed('one-2', before, 30_000);
}

/** What answers is not to be trusted. */
async function untrusted(bench: Bench): Promise<void> {
  const answers: readonly ((body: string) => string)[] = [
    (body) => body.slice(0, body.length / 2),
    () => '{}',
    () => 'null',
    (body) => body.replace(/"token":"[^"]*"/, '"token":"aaa.bbb.ccc"'),
    (body) => body.replace(/"expirationTimestamp":"[^"]*"/, '"expirationTimestamp":"1970-01-01T00:00:00Z"'),
    (body) => body.replace(/"expirationTimestamp":"[^"]*"/, '"expirationTimestamp":"9999-99-99"'),
  ];
  for (const alter of answers) {
    const rule = bench.one.proxy.rule(isTokenRequest, { type: 'alter', alter }, 1);
    await bench.rotate('one-2');
    await bench.expect('I10', 'a token is asked for', 30_000, async () => rule.hits() === 1);
  }
  for (const status of [301, 307]) {
    bench.one.proxy.rule(isTokenRequest, { type: 'answer', status, headers: { location: `${bench.two.proxy.url}/stolen` } }, 2);
    await during(bench, 3_000, ['one-2']);
  }
  bench.one.proxy.rule(isTokenRequest, { type: 'truncate', bytes: 40 }, 2);
  await during(bench, 3_000, ['one-3']);
  bench.one.proxy.line({ cutAfterBytes: 6_000 });
  await during(bench, 8_000, ['one-2', 'one-3']);
}

/** The token of another account must not end up in a Secret. */
async function wrongToken(bench: Bench): Promise<void> {
  const other = await bench.one.api.create(`${paths.accounts(DEPLOY, 'one-3')}/token`, {
    spec: { audiences: ['https://hub.test'], expirationSeconds: 600 },
  });
  const alter = (body: string) => body.replace(/"token":"[^"]*"/, `"token":"${other.status?.token}"`);
  bench.one.proxy.rule((request) => isTokenRequest(request) && request.path.includes('/one-2/'), { type: 'alter', alter }, 3);
  await during(bench, 6_000, ['one-2']);
  if ((await bench.tokenText('one-2')) === other.status?.token) bench.violation('I1', 'the token of another account was written');
}

export const targetFaults: readonly Scenario[] = [
  { id: 'F8', title: 'target down before, during and after issuance', on: 'one', run: down },
  { id: 'F9', title: 'target takes 29 s for each response', on: 'one', run: slow },
  { id: 'F10', title: 'target flaps, 5 s down and 5 s up', on: 'one', run: flapping },
  { id: 'F11', title: 'target accepts connections and does not respond', on: 'one', run: halfOpen },
  {
    id: 'F12',
    title: 'target returns 429 with Retry-After 1, 30, 86400 and an invalid value',
    on: 'one',
    run: throttled,
    recoveryMs: 120_000,
  },
  { id: 'F13', title: 'target returns 500 to all requests for 40 s', on: 'one', run: storm },
  { id: 'F14', title: 'server certificate rotated, same CA', on: 'one', run: sameAuthority },
  { id: 'F15', title: 'CA rotated, caBundle patched later', on: 'one', run: newAuthority },
  { id: 'F16', title: "Purser's credential rotated three times", on: 'one', run: credentialRotated },
  { id: 'F17', title: "Purser's credential rejected (401)", on: 'one', run: credentialRejected },
  { id: 'F18', title: 'credential loses permission for one service account (403)', on: 'one', run: lessRights },
  { id: 'F42', title: 'all targets become available again at once after 60 s', on: 'targets', run: allBack },
  { id: 'F44', title: 'shortest lifetime, 5 s for each response', on: 'one', run: shortAndSlow },
  { id: 'T1', title: 'responses truncated, altered, redirected or cut', on: 'one', run: untrusted },
  { id: 'T2', title: 'responses with the token of another service account', on: 'one', run: wrongToken },
];
