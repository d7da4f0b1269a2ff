// Checks of histories: each reports its violation, and nothing for a correct history.

import { describe, expect, it } from '@jest/globals';
import { checkHistory } from './checks/check-history.ts';
import { computeRenewalFigures } from './checks/renewals.ts';
import type { Entry, Recorded, Sample } from './history.ts';
import { containsAny, toWindows } from './leak-scan.ts';

const T0 = Date.parse('2026-03-01T12:00:00Z');
const at = (seconds: number, entry: Entry): Recorded => ({ at: T0 + seconds * 1_000, ...entry });
const instant = (seconds: number) => T0 + seconds * 1_000;

function sample(seconds: number, digest: string | undefined, more: Partial<Sample> = {}): Recorded {
  const secret = { uid: 's', ...(digest && { digest }), issuedAt: instant(0), expiresAt: instant(600), renewAt: instant(60) };
  const status = { token: 'a', uid: 'u', cluster: 'one', generation: 1, observedGeneration: 1, ready: 'True', reason: 'Issued' };
  return at(seconds, { type: 'sample', ...status, readySince: '', failing: '', verdict: digest ? 'accepted' : 'none', secret, ...more });
}

function issued(seconds: number, status = 201): Recorded {
  const path = '/api/v1/namespaces/deploy/serviceaccounts/a/token';
  return at(seconds, { type: 'request', server: 'one', method: 'POST', path, status, forwarded: true, tookMs: 5 });
}

/** Returns one memory sample per minute. */
function memory(megabytesAt: (minute: number) => number): readonly Recorded[] {
  const minutes = Array.from({ length: 17 }, (_, minute) => minute);
  return minutes.map((minute) => at(minute * 60, { type: 'usage', pid: 1, rssMegabytes: megabytesAt(minute), handles: 10 }));
}

const created = at(0, { type: 'cause', token: 'a', reason: 'created' });
const findInvariants = (...history: readonly Recorded[]) => checkHistory(history).map(({ invariant }) => invariant);

describe('checkHistory', () => {
  it('accepts a token that is issued and renewed when due', () => {
    const renewed = sample(61, 'y', {
      secret: { uid: 's', digest: 'y', issuedAt: instant(60), expiresAt: instant(660), renewAt: instant(120) },
    });
    expect(findInvariants(created, issued(0), sample(1, 'x'), issued(60), renewed)).toEqual([]);
  });

  it.each<readonly [string, readonly Recorded[], readonly string[]]>([
    ['reports a rejected token of a Ready ManagedToken', [sample(1, 'x', { verdict: 'rejected' })], ['I1']],
    ['reports a Ready ManagedToken without a token for 13 s', [sample(1, undefined), sample(14, undefined)], ['I1']],
    ['reports a second issuance without a cause', [created, issued(0), sample(1, 'x'), issued(20)], ['I2']],
    [
      'reports an expiry that decreases',
      [
        sample(1, 'x'),
        sample(2, 'y', { secret: { uid: 's', digest: 'y', issuedAt: instant(0), expiresAt: instant(300), renewAt: instant(60) } }),
      ],
      ['I4'],
    ],
    ['reports an issuance without permission', [created, at(1, { type: 'grant', token: 'a', allowed: false }), issued(5)], ['I7']],
    ['reports memory above the limit', [at(1, { type: 'usage', pid: 1, rssMegabytes: 5_000, handles: 10 })], ['I8']],
    ['reports memory that grows continuously', memory((minute) => 100 + 5 * minute), ['I8']],
    ['accepts memory that returns to its minimum', memory((minute) => (minute % 4 === 0 ? 100 : 200)), []],
    ['reports an expired token of a Ready ManagedToken', [sample(700, 'x')], ['I9']],
    [
      'accepts a Secret whose annotations were removed',
      [sample(700, 'x', { secret: { uid: 's', digest: 'x', issuedAt: 0, expiresAt: 0, renewAt: instant(60) } })],
      [],
    ],
    ['reports a Secret that outlives its permission', [at(0, { type: 'grant', token: 'a', allowed: false }), sample(50, 'x')], ['I11']],
    ['reports removal of a valid token', [sample(1, 'x'), sample(2, undefined, { ready: 'False' })], ['I12']],
    [
      'accepts removal of a token whose permission was withdrawn and granted again between two samples',
      [
        sample(1, 'x'),
        at(2, { type: 'grant', token: 'a', allowed: false }),
        at(19, { type: 'grant', token: 'a', allowed: true }),
        sample(20, undefined, { ready: 'False' }),
      ],
      [],
    ],
    [
      'reports removal of a token whose permission was granted again before the last sample with the token',
      [
        at(1, { type: 'grant', token: 'a', allowed: false }),
        at(2, { type: 'grant', token: 'a', allowed: true }),
        sample(3, 'x'),
        sample(4, undefined, { ready: 'False' }),
      ],
      ['I12'],
    ],
  ])('%s', (_, history, invariants) => {
    expect(findInvariants(...history)).toEqual(invariants);
  });

  it('accepts an issuance right after the permission is restored', () => {
    const grants = [at(1, { type: 'grant', token: 'a', allowed: false }), at(4.9, { type: 'grant', token: 'a', allowed: true })] as const;
    expect(findInvariants(created, ...grants, issued(5))).toEqual([]);
  });

  it('reports a write other than to the Lease while nothing is due', () => {
    const marks = [at(1, { type: 'quiet', begins: true }), at(20, { type: 'quiet', begins: false })] as const;
    const write = at(5, {
      type: 'request',
      server: 'hub',
      method: 'PUT',
      path: '/api/v1/namespaces/t/secrets/a',
      status: 200,
      forwarded: true,
      tookMs: 1,
    });
    const lease = at(6, {
      type: 'request',
      server: 'hub',
      method: 'PUT',
      path: '/apis/coordination.k8s.io/v1/namespaces/p/leases/purser',
      status: 200,
      forwarded: true,
      tookMs: 1,
    });
    expect(findInvariants(marks[0], write, lease, marks[1])).toEqual(['I3']);
  });

  it('reports a renewal delayed by a fault on another cluster', () => {
    const late = sample(71, 'y', {
      cluster: 'two',
      secret: { uid: 's', digest: 'y', issuedAt: instant(70), expiresAt: instant(670), renewAt: instant(130) },
    });
    const span = [at(10, { type: 'begin', fault: 'F8', on: 'one' }), at(100, { type: 'end', fault: 'F8' })] as const;
    expect(findInvariants(span[0], sample(20, 'x', { cluster: 'two' }), late, span[1])).toEqual(['I5']);
  });

  it('accepts a crash, a lost response and a requested rotation as causes of issuances', () => {
    const crash = at(2, { type: 'process', event: 'crash', pid: 1 });
    const lost = at(8, {
      type: 'request',
      server: 'one',
      method: 'POST',
      path: '/api/v1/namespaces/deploy/serviceaccounts/a/token',
      status: 201,
      forwarded: true,
      fault: 'lose',
      tookMs: 5,
    });
    expect(
      findInvariants(
        created,
        issued(0),
        sample(1, 'x'),
        crash,
        issued(5),
        at(7, { type: 'cause', token: 'a', reason: 'rotate' }),
        lost,
        issued(9),
      ),
    ).toEqual([]);
  });
});

describe('checks of ManagedTokenSets', () => {
  const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => `c${from + index}`);
  const allowed = (seconds: number, clusters: readonly string[]) => at(seconds, { type: 'allowance', fleet: 'a', clusters });
  const confirmed = (seconds: number, clusters: readonly string[]) => at(seconds, { type: 'confirmation', fleet: 'a', clusters });
  const fleet = (seconds: number, clusters: readonly string[], { held = clusters, isPaused = false } = {}) =>
    at(seconds, { type: 'fleet', fleet: 'a', clusters, held, isPaused });
  const disturbance = (seconds: number, begins: boolean) => at(seconds, { type: 'disturbance', begins });
  const withdrawn = [allowed(0, ['c1', 'c2']), allowed(100, ['c2']), allowed(110, [])] as const;

  it.each<readonly [string, readonly Recorded[], readonly string[]]>([
    ['accepts tokens with permission at any time', [allowed(0, ['c1']), fleet(900, ['c1'])], []],
    ['accepts a token for 42 s after its permission was withdrawn', [...withdrawn, fleet(142, ['c1'])], []],
    ['reports a token 43 s after its permission was withdrawn, once', [...withdrawn, fleet(143, ['c1']), fleet(144, ['c1'])], ['I21']],
    ['accepts a token whose permission was restored', [...withdrawn, allowed(120, ['c1']), fleet(143, ['c1'])], []],
    [
      'accepts a token without permission until it must have recovered from a fault',
      [...withdrawn, disturbance(120, true), disturbance(140, false), fleet(240, ['c1'])],
      [],
    ],
    ['reports a ManagedToken 121 s after its permission was withdrawn', [...withdrawn, fleet(221, ['c1'], { held: [] })], ['I21']],
    [
      'accepts a ManagedToken without permission while its removal is paused',
      [...withdrawn, fleet(900, ['c1'], { held: [], isPaused: true })],
      [],
    ],
    ['accepts the removal of ten ManagedTokens', [fleet(0, numbered(0, 12)), fleet(1, numbered(10, 12))], []],
    ['accepts the removal of a third of the ManagedTokens', [fleet(0, numbered(0, 36)), fleet(1, numbered(12, 36))], []],
    ['reports the removal of eleven of twelve ManagedTokens', [fleet(0, numbered(0, 12)), fleet(1, numbered(11, 12))], ['I22']],
    ['reports removals that exceed the limit together', [fleet(0, numbered(0, 20)), fleet(9, numbered(10, 20)), fleet(40, [])], ['I22']],
    [
      'accepts removals that exceed the limit together if they are a minute apart',
      [fleet(0, numbered(0, 20)), fleet(9, numbered(10, 20)), fleet(70, [])],
      [],
    ],
    ['accepts a confirmed removal', [fleet(0, numbered(0, 12)), confirmed(1, numbered(0, 12)), fleet(20, [])], []],
    [
      'reports a second removal after one confirmation',
      [fleet(0, numbered(0, 12)), confirmed(1, numbered(0, 12)), fleet(20, []), fleet(30, numbered(0, 12)), fleet(50, [])],
      ['I22'],
    ],
  ])('%s', (_, history, invariants) => {
    const allow = history.some(({ type }) => type === 'allowance') ? [] : [allowed(0, numbered(0, 40))];
    expect(findInvariants(...allow, ...history)).toEqual(invariants);
  });
});

describe('containsAny', () => {
  const signature = 'abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJ';

  it.each([
    ['finds a signature in a log line', `{"msg":"bearer x.y.${signature}"}`, true],
    ['finds 24 characters of a signature', `key=${signature.slice(5, 30)}`, true],
    ['ignores 23 characters of a signature', signature.slice(0, 23), false],
    ['ignores other text of the same length', signature.toUpperCase(), false],
  ])('%s', (_, text, isFound) => {
    expect(containsAny(text, toWindows([signature]))).toBe(isFound);
  });
});

describe('replacedCredentials', () => {
  const theft = (seconds: number, verdict: 'accepted' | 'rejected', replacedAt?: number) =>
    at(seconds, {
      type: 'theft',
      cluster: 'one',
      digest: 'd',
      verdict,
      ...(replacedAt !== undefined && { replacedAt: instant(replacedAt) }),
    });
  const disturbance = (seconds: number, begins: boolean) => at(seconds, { type: 'disturbance', begins });
  const faults = [disturbance(10, true), disturbance(40, false)] as const;
  const usage = (seconds: number) => at(seconds, { type: 'usage', pid: 1, rssMegabytes: 100, handles: 9 });

  it.each<readonly [string, readonly Recorded[], readonly string[]]>([
    ['accepts a credential that is refused 50 s after its replacement', [theft(50, 'accepted', 0), theft(51, 'rejected', 0)], []],
    [
      'reports a credential that is accepted 51 s after its replacement, once',
      [theft(51, 'accepted', 0), theft(52, 'accepted', 0)],
      ['I19'],
    ],
    ['accepts a replaced credential until 50 s after the last fault', [...faults, theft(90, 'accepted', 0)], []],
    ['accepts a replaced credential during a fault', [disturbance(10, true), theft(90, 'accepted', 0)], []],
    ['reports a replaced credential that is accepted 51 s after the last fault', [...faults, theft(91, 'accepted', 0)], ['I19']],
    ['accepts a replaced credential until 50 s after the machine was suspended', [usage(5), usage(60), theft(70, 'accepted', 0)], []],
    ['reports a replaced credential that is accepted again', [theft(30, 'rejected', 0), theft(99, 'accepted', 0)], ['I19']],
    ['accepts a credential in use at any time', [theft(0, 'accepted'), theft(400, 'accepted')], []],
    ['reports a rejected credential in use', [theft(5, 'rejected')], ['I20']],
  ])('%s', (_, history, invariants) => {
    expect(findInvariants(...history)).toEqual(invariants);
  });

  it('returns the figures of a run', () => {
    const renewal = (seconds: number, digest: string) =>
      at(seconds, { type: 'renewal', holder: 'hub/one', digest, expiresAt: instant(seconds + 600) });
    const step = at(20, { type: 'step', description: 'one: refuse' });
    const thefts = [theft(60, 'accepted', 0), theft(95, 'rejected', 0), theft(99, 'rejected', 0)];
    expect(computeRenewalFigures([renewal(0, 'c'), ...faults, step, renewal(300, 'd'), ...thefts])).toEqual({
      renewals: 2,
      holders: 1,
      faults: 1,
      presented: 3,
      refused: 1,
      refusedInTime: 0,
      worstRefusalMs: 95_000,
      leastRemainingMs: 300_000,
    });
    expect(computeRenewalFigures([])).toBeUndefined();
  });
});
