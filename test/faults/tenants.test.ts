// Checks and grammars of the hostile-tenant bench.

import { describe, expect, it } from '@jest/globals';
import { createRandom } from '../support/random.ts';
import { checkHistory } from './checks/check-history.ts';
import { computeTenantFigures, hasMemoryRecovered } from './checks/tenants.ts';
import type { Entry, Phase, Recorded, Sight } from './history.ts';
import { CLUSTER_WRITER } from './tenants/cluster-writer.ts';
import { findDisclosures } from './tenants/collector.ts';
import { FACADE_CALLER } from './tenants/facade-caller.ts';
import { Draw, type Grammar, type Scene } from './tenants/grammar.ts';
import { HOSTILE_NAMESPACES } from './tenants/names.ts';
import { findShown } from './tenants/shown-objects.ts';
import { decodeClaims, findTokens, readBoundSecret } from './tenants/token-text.ts';
import { TOKEN_WRITER } from './tenants/token-writer.ts';

const T0 = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number, entry: Entry): Recorded => ({ at: T0 + seconds * 1_000, ...entry });
const findInvariants = (...history: readonly Recorded[]) => checkHistory(history).map(({ invariant }) => invariant);
const user = (namespace: string, account: string) => `system:serviceaccount:${namespace}:${account}`;

const reach = [{ cluster: 'one', namespace: 'deploy', account: 'deployer' }] as const;
const allowed = at(0, { type: 'authority', holder: 'caller', reach });

function held(seconds: number, cluster: string, username: string, more: Partial<Extract<Entry, { type: 'held' }>> = {}): Recorded {
  const acceptedBy = [{ cluster, username }];
  const issuedAt = T0 + seconds * 1_000;
  return at(seconds, {
    type: 'held',
    holder: 'caller',
    source: 'facade',
    digest: 'd',
    acceptedBy,
    audiences: ['a'],
    issuedAt,
    expiresAt: issuedAt + 600_000,
    ...more,
  });
}

describe('heldTokens', () => {
  it.each<readonly [string, readonly Recorded[], readonly string[]]>([
    ['accepts a permitted token', [allowed, held(5, 'one', user('deploy', 'deployer'))], []],
    ['reports a token for another service account', [allowed, held(5, 'one', user('deploy', 'other'))], ['I13']],
    [
      'reports a token whose user name only starts with the permitted one',
      [allowed, held(5, 'one', user('deploy', 'deployer-2'))],
      ['I13'],
    ],
    ['reports a token of another namespace', [allowed, held(5, 'one', user('kube-system', 'deployer'))], ['I13']],
    ['reports a token of another cluster', [allowed, held(5, 'two', user('deploy', 'deployer'))], ['I13']],
    ['reports a token of a user that is not a service account', [allowed, held(5, 'one', 'admin')], ['I13']],
    ['ignores a token that no cluster accepts', [allowed, held(5, 'one', 'x', { acceptedBy: [] })], []],
    [
      'reports a token for an audience that was not requested',
      [allowed, held(5, 'one', user('deploy', 'deployer'), { requested: ['b'] })],
      ['I13'],
    ],
    [
      'reports a lifetime of more than a day',
      [allowed, held(5, 'one', user('deploy', 'deployer'), { expiresAt: T0 + 90_000_000 })],
      ['I13'],
    ],
    ['reports a token of a tenant without permissions', [held(5, 'one', user('deploy', 'deployer'))], ['I13']],
  ])('%s', (_, history, invariants) => {
    expect(findInvariants(...history)).toEqual(invariants);
  });

  it('accepts tokens for all service accounts in a permitted namespace', () => {
    const namespace = at(0, { type: 'authority', holder: 'caller', reach: [{ cluster: 'two', namespace: 'sandbox' }] });
    expect(findInvariants(namespace, held(5, 'two', user('sandbox', 'any')))).toEqual([]);
  });

  it.each([
    ['accepts a token that was issued 8 s after withdrawal of the permission', 28, []],
    ['reports a token that was issued 15 s after withdrawal of the permission', 35, ['I13']],
  ])('%s', (_, seconds, invariants) => {
    const withdrawn = at(20, { type: 'authority', holder: 'caller', reach: [] });
    expect(findInvariants(allowed, withdrawn, held(seconds, 'one', user('deploy', 'deployer')))).toEqual(invariants);
  });
});

describe('receivedTokens', () => {
  const received = (isIssued: boolean, cluster?: string): Recorded =>
    at(1, {
      type: 'received',
      path: '/version',
      digest: 'd',
      isIssued,
      acceptedBy: cluster === undefined ? [] : [{ cluster, username: user('purser-system', 'purser') }],
    });

  it.each([
    ['reports a received token that a cluster accepts', received(false, 'two'), ['I14']],
    ['reports a received token that was issued and is no longer valid', received(true), ['I14']],
    ['ignores received text that is not a token of the bench', received(false), []],
  ])('%s', (_, entry, invariants) => {
    expect(findInvariants(entry)).toEqual(invariants);
  });
});

describe('strayCredentials', () => {
  const credential = at(0, { type: 'credential', cluster: 'one', digest: 'c1' });
  const request = (server: string, bearer: string): Recorded =>
    at(1, { type: 'request', server, method: 'GET', path: '/readyz', status: 200, forwarded: true, tookMs: 1, bearer });

  it.each([
    ['accepts a credential on its own cluster', request('one', 'c1'), []],
    ['reports a credential on another cluster', request('two', 'c1'), ['I14']],
    ['ignores tokens that are not credentials', request('two', 'c2'), []],
  ])('%s', (_, entry, invariants) => {
    expect(findInvariants(credential, entry)).toEqual(invariants);
  });
});

describe('pinnedAddresses', () => {
  const pins = at(0, { type: 'pins', cluster: 'prod', servers: ['https://a'], cas: ['1', '2'] });
  const written = (servers: readonly string[], cas: readonly string[], cluster = 'prod'): Recorded =>
    at(1, { type: 'written', token: 'a', cluster, servers, cas });

  it.each([
    ['accepts pinned addresses and CAs in a Secret', written(['https://a'], ['2']), []],
    ['reports an address that is not pinned', written(['https://a', 'https://b'], ['1']), ['I17']],
    ['reports a CA that is not pinned', written(['https://a'], ['1', '3']), ['I17']],
    ['reports an address of a Cluster without pins', written(['https://a'], [], 'dev'), ['I17']],
  ])('%s', (_, entry, invariants) => {
    expect(findInvariants(pins, entry)).toEqual(invariants);
  });
});

const phase = (seconds: number, name: Phase) => at(seconds, { type: 'phase', phase: name });
const phases = [phase(0, 'calm'), phase(20, 'attack'), phase(100, 'after'), phase(150, 'over')] as const;

describe('promptRotations', () => {
  const rotation = (seconds: number, tookMs: number, isDone = true): Recorded =>
    at(seconds, { type: 'rotation', token: 'a', tookMs, isDone });

  const control = (seconds: number, tookMs: number): Recorded => at(seconds, { type: 'control', tookMs });

  it.each([
    ['accepts a rotation at most 5 s slower than the worst without attackers', [rotation(5, 1_000), rotation(30, 5_900)], []],
    ['accepts a rotation at most twice as slow as the worst without attackers', [rotation(5, 8_000), rotation(30, 15_900)], []],
    ['reports a rotation slower than both limits', [rotation(5, 1_000), rotation(30, 6_100)], ['I15']],
    ['reports a rotation that did not complete', [rotation(5, 1_000), rotation(30, 500, false)], ['I15']],
    [
      'accepts a rotation slowed down by twice the slowdown of the hub',
      [rotation(5, 1_000), control(5, 100), control(30, 2_100), rotation(30, 9_900)],
      [],
    ],
    [
      'reports a rotation slowed down by more than twice the slowdown of the hub',
      [rotation(5, 1_000), control(5, 100), control(30, 2_100), rotation(30, 10_100)],
      ['I15'],
    ],
    ['ignores rotations after the attack', [rotation(5, 1_000), rotation(120, 60_000)], []],
  ])('%s', (_, rotations, invariants) => {
    expect(findInvariants(...phases, ...rotations)).toEqual(invariants);
  });

  it('returns the times of both phases as figures', () => {
    const figures = computeTenantFigures([...phases, rotation(5, 1_000), rotation(30, 2_000), rotation(31, 4_000)]);
    expect(figures?.rotations).toEqual({
      calm: { count: 1, median: 1_000, p95: 1_000, worst: 1_000 },
      attack: { count: 2, median: 4_000, p95: 4_000, worst: 4_000 },
    });
    expect(computeTenantFigures([])).toBeUndefined();
  });
});

describe('revokedTokens', () => {
  const grant = (seconds: number, isAllowed: boolean) => at(seconds, { type: 'grant', token: 'a', allowed: isAllowed });
  const review = (seconds: number, verdict: 'accepted' | 'rejected') => at(seconds, { type: 'review', token: 'a', digest: 'd', verdict });

  it.each([
    ['accepts a token that is rejected 54 s after withdrawal', [grant(0, false), review(50, 'accepted'), review(54, 'rejected')], []],
    ['reports a token that is accepted 53 s after withdrawal', [grant(0, false), review(53, 'accepted')], ['I11']],
    ['ignores reviews after the permission is granted again', [grant(0, false), grant(40, true), review(53, 'accepted')], []],
  ])('%s', (_, history, invariants) => {
    expect(findInvariants(...history)).toEqual(invariants);
  });
});

describe('footprintLimits and anchorLookups', () => {
  const usage = (seconds: number, rssMegabytes: number) => at(seconds, { type: 'usage', pid: 1, rssMegabytes, handles: 9 });
  const footprint = (seconds: number, series: number, errorLines: number) => at(seconds, { type: 'footprint', series, errorLines });
  const excuse = at(0, { type: 'excuse', token: '*', invariants: ['I8'], untilAt: Infinity, reason: '' });
  const anchors = (count: number) =>
    Array.from({ length: count }, (_, n) =>
      at(30 + n, {
        type: 'request',
        server: 'one',
        method: 'GET',
        path: `/api/v1/namespaces/ns-${n}/secrets/purser-0a1b`,
        status: 404,
        forwarded: true,
        tookMs: 1,
      }),
    );

  it.each<readonly [string, readonly Recorded[], readonly string[]]>([
    ['accepts memory that decreases after the attack', [usage(5, 150), usage(30, 500), usage(120, 480), usage(140, 200)], []],
    ['reports memory above the limit', [usage(5, 150), usage(30, 513), usage(140, 200)], ['I16']],
    ['reports memory that stays high after the attack', [usage(5, 150), usage(30, 400), usage(120, 390), usage(140, 300)], ['I16']],
    ['accepts metric series and error lines below their limits', [footprint(5, 300, 5), footprint(140, 600, 900)], []],
    ['reports metric series above their limit', [footprint(5, 300, 5), footprint(30, 1_001, 5), footprint(140, 300, 5)], ['I16']],
    ['reports error lines above their limit', [footprint(5, 300, 5), footprint(140, 300, 1_500)], ['I16']],
    ['accepts lookups of anchors of one object in 32 namespaces', anchors(32), []],
    ['reports lookups of anchors of one object in 400 namespaces once', anchors(400), ['I16']],
  ])('%s', (_, history, invariants) => {
    expect(findInvariants(excuse, ...phases, ...history)).toEqual(invariants);
  });
});

describe('hasMemoryRecovered', () => {
  const usage = (seconds: number, rssMegabytes: number) => at(seconds, { type: 'usage', pid: 1, rssMegabytes, handles: 9 });

  it.each([
    ['returns false without a sample after the attack', [usage(5, 150), usage(30, 300)], false],
    ['returns false while memory is high', [usage(5, 150), usage(110, 300)], false],
    ['returns true if memory is near its level before the attack', [usage(5, 150), usage(110, 300), usage(120, 260)], true],
  ])('%s', (_, samples, hasRecovered) => {
    expect(hasMemoryRecovered([...phases, ...samples])).toBe(hasRecovered);
  });
});

const address = { url: 'https://127.0.0.1:1', ca: 'pem' };
const scene: Scene = { hostile: address, one: address, two: address, hub: address };

describe('Draw', () => {
  it.each<readonly [string, Grammar]>([
    ['the writer of ManagedTokens', TOKEN_WRITER],
    ['the writer of Clusters', CLUSTER_WRITER],
    ['the caller of the façade', FACADE_CALLER],
  ])('draws the same actions from the same seed for %s', (_, grammar) => {
    const drawActions = (seed: number) => {
      const draw = new Draw(createRandom(seed));
      return Array.from({ length: 200 }, () => draw.actions(grammar, scene));
    };
    expect(drawActions(7)).toEqual(drawActions(7));
    expect(drawActions(7)).not.toEqual(drawActions(8));
  });

  it('draws hundreds of ManagedTokens that name one Secret, and changes in both namespaces that move anchors on the slow cluster', () => {
    const draw = new Draw(createRandom(7));
    const drawn = Array.from({ length: 2_000 }, () => draw.actions(TOKEN_WRITER, scene)).flat();
    const labels = (prefix: string) => new Set(drawn.filter(({ label }) => label.startsWith(prefix)).map(({ label }) => label));
    const moved = new Set(drawn.filter(({ label }) => label.startsWith('move ')).map(({ path }) => path.split('/')[5]));
    expect([labels('claim ').size > 200, labels('move ').size, moved]).toEqual([true, 20, new Set(HOSTILE_NAMESPACES)]);
  });

  it('draws no changes to the Clusters on which other tenants are measured', () => {
    const draw = new Draw(createRandom(7));
    const paths = Array.from({ length: 2_000 }, () => draw.actions(CLUSTER_WRITER, scene)).flat();
    const names = paths.map(({ path, body }) => path.split('/clusters/')[1] ?? (body as { metadata?: { name: string } })?.metadata?.name);
    expect(names.filter((name) => name === 'one' || name === 'two')).toEqual([]);
  });
});

describe('findDisclosures', () => {
  const hidden = new Map([
    ['the address of one', '127.0.0.1:6443'],
    ['the credential one-credential', 'one-credential'],
  ]);

  it.each([
    ['finds an address in an error', 'dial tcp 127.0.0.1:6443: refused', '', ['the address of one']],
    ['ignores a name that the reader wrote', 'Secret one-credential is owned by another object.', '{"name":"one-credential"}', []],
    ['finds nothing in a sentence without hidden names', 'The requester is not authorized to issue this token, or does not exist.', '', []],
  ])('%s', (_, text, known, named) => {
    expect(findDisclosures(text, hidden, known)).toEqual(named);
  });
});

describe('shownObjects', () => {
  const sight = (seconds: number, ...sights: readonly Sight[]) => at(seconds, { type: 'sight', holder: 'caller', sights });
  const all = { resource: 'managedtokens', namespace: 'a' };
  const shown = (seconds: number, name: string, more: { readonly namespace?: string; readonly resource?: string } = {}) =>
    at(seconds, { type: 'shown', holder: 'caller', sentAt: T0 + seconds * 1_000, objects: [{ ...all, name, ...more }] });

  it.each<readonly [string, readonly Recorded[], readonly string[]]>([
    ['accepts an object of a permitted namespace', [sight(0, all), shown(5, 'x')], []],
    ['accepts a permitted object', [sight(0, { ...all, name: 'x' }), shown(5, 'x')], []],
    ['accepts an object within 12 s of the withdrawal', [sight(0, all), sight(20), shown(31, 'x')], []],
    ['reports an object more than 12 s after the withdrawal', [sight(0, all), sight(20), shown(33, 'x')], ['I23']],
    ['reports an object before the permission', [sight(0), shown(5, 'x'), sight(20, all)], ['I23']],
    ['reports a different object than the permitted one', [sight(0, { ...all, name: 'x' }), shown(5, 'y')], ['I23']],
    ['reports an object of another namespace', [sight(0, all), shown(5, 'x', { namespace: 'b' })], ['I23']],
    ['reports an object of another kind', [sight(0, all), shown(5, 'x', { resource: 'clusters' })], ['I23']],
    ['reports an object of a tenant without permissions', [shown(5, 'x')], ['I23']],
  ])('%s', (_, history, invariants) => {
    expect(findInvariants(...history)).toEqual(invariants);
  });
});

describe('findShown', () => {
  const object = (name: string) => ({ kind: 'ManagedToken', metadata: { namespace: 'a', name }, spec: { secret: { name: 'hidden' } } });
  const x = { resource: 'managedtokens', namespace: 'a', name: 'x' };
  const path = '/auth/v1/namespaces/a/managedtokens?limit=1';

  it.each<readonly [string, string, string, readonly object[]]>([
    ['a list', path, JSON.stringify({ kind: 'ManagedTokenList', metadata: { resourceVersion: '1' }, items: [object('x')] }), [x]],
    ['a get', '/auth/v1/namespaces/a/managedtokens/x', JSON.stringify(object('x')), [x]],
    ['a table', path, JSON.stringify({ kind: 'Table', metadata: {}, rows: [{ cells: ['x'], object: object('x') }] }), [x]],
    [
      'a watch that is cut',
      '/auth/v1/managedtokens?watch=true',
      `${JSON.stringify({ type: 'ADDED', object: object('x') })}\n{"type":"ADD`,
      [x],
    ],
    [
      'Clusters',
      '/auth/v1/clusters',
      JSON.stringify({ items: [{ metadata: { name: 'one' } }] }),
      [{ ...x, resource: 'clusters', namespace: '', name: 'one' }],
    ],
    ['a Status', path, JSON.stringify({ kind: 'Status', metadata: {}, details: { name: 'x' } }), []],
    ['a token', '/orchestrator/one/api/v1/namespaces/a/serviceaccounts/x/token', JSON.stringify(object('x')), []],
  ])('returns the objects of %s', (_, target, body, objects) => {
    expect(findShown(target, body)).toEqual(objects);
  });
});

describe('disclosures', () => {
  it('reports a disclosure', () => {
    expect(findInvariants(at(1, { type: 'disclosure', holder: 'caller', where: 'a response 503', named: ['the address of one'] }))).toEqual(
      ['I18'],
    );
  });
});

const encode = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url');
const token = `${encode({ alg: 'RS256' })}.${encode({ aud: 'x', iat: 5 })}.${'s'.repeat(40)}`;

describe('findTokens', () => {
  it('finds each token in a string once', () => {
    expect(findTokens(`{"bearerToken":"${token}"}\n token: ${token}`)).toEqual([token]);
  });
});

describe('decodeClaims', () => {
  it('returns claims with a list of audiences', () => {
    expect(decodeClaims(token)).toMatchObject({ aud: ['x'], iat: 5 });
    expect(decodeClaims('opaque')).toEqual({});
  });
});

describe('readBoundSecret', () => {
  it('returns the name of the Secret that a token is bound to', () => {
    const bound = `${encode({})}.${encode({ 'kubernetes.io': { secret: { name: 'purser-1' } } })}.s`;
    expect([readBoundSecret(bound), readBoundSecret(token)]).toEqual(['purser-1', undefined]);
  });
});
