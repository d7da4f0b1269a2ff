import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ClusterCondition } from '../../../src/api/cluster.gen.ts';
import { type FaultReason, readingOf } from '../../../src/clusters/policy/conditions.ts';
import { finding } from '../../../src/clusters/policy/findings.ts';
import {
  clusterConditions,
  type Health,
  healthAfter,
  isInDoubt,
  isReadyInDoubt,
  rememberedHealth,
} from '../../../src/clusters/policy/health.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const FRESH = finding('True', 'CredentialValid');

/** Probes by their outcome; `ok` is one without fault. */
type Probe = FaultReason | 'ok';

function after(...probes: readonly Probe[]): Health {
  return history(probes).at(-1) as Health;
}

function history(probes: readonly Probe[]): readonly Health[] {
  let health: Health | undefined;
  return probes.map((probe) => {
    health = healthAfter(health, readingOf(probe === 'ok' ? [] : [{ reason: probe, detail: '' }]));
    return health;
  });
}

function shown({ reachable, authorized, ready }: Health): string {
  return [reachable, authorized, ready].map((aspect) => `${aspect.shown.status} ${aspect.shown.reason}`).join(', ');
}

const UP = 'True Answering, True RightsGranted, True ClusterReady';
const DOWN = 'False Timeout, Unknown NoAnswer, False Timeout';

describe('health', () => {
  it.each<readonly [string, readonly Probe[], string]>([
    ['the first success decides', ['ok'], UP],
    ['the first failure decides', ['Timeout'], DOWN],
    ['one failure changes nothing', ['ok', 'Timeout'], UP],
    ['two failures turn it', ['ok', 'Timeout', 'Timeout'], DOWN],
    ['two failures of different kinds turn it', ['ok', 'ConnectionRefused', 'Timeout'], DOWN],
    ['a success between two failures', ['ok', 'Timeout', 'ok', 'Timeout'], UP],
    ['one success does not return', ['Timeout', 'ok'], DOWN],
    ['two successes return', ['Timeout', 'ok', 'ok'], UP],
    ['a failure between two successes', ['Timeout', 'ok', 'Timeout', 'ok'], DOWN],
    ['another reason, once', ['Timeout', 'DNSFailed'], DOWN],
    ['another reason, twice', ['Timeout', 'DNSFailed', 'DNSFailed'], 'False DNSFailed, Unknown NoAnswer, False DNSFailed'],
    ['reasons that alternate', ['Timeout', 'DNSFailed', 'Timeout', 'DNSFailed'], DOWN],
    [
      'a rejected credential',
      ['ok', 'CredentialRejected', 'CredentialRejected'],
      'True Answering, False CredentialRejected, False CredentialRejected',
    ],
    ['Purser unable to probe', ['ok', 'ProbeFailed', 'ProbeFailed'], 'Unknown ProbeFailed, Unknown ProbeFailed, Unknown ProbeFailed'],
  ])('%s', (_, probes, expected) => expect(shown(after(...probes))).toBe(expected));

  it('is in doubt after a probe that goes otherwise, until the next', () => {
    expect(history(['ok', 'Timeout', 'Timeout', 'ok', 'ok']).map(isInDoubt)).toEqual([false, true, false, true, false]);
  });

  const probe = fc.constantFrom<Probe>('ok', 'Timeout', 'DNSFailed', 'CredentialRejected', 'NotReady', 'ProbeFailed');
  const probes = fc.array(probe, { minLength: 1, maxLength: 40 });

  it('is never shown as ready in doubt twice in a row, so that whoever waits for the end of that does not wait for long', () => {
    fc.assert(
      fc.property(probes, (given) => {
        const doubts = history(given).map(isReadyInDoubt);
        expect(doubts.some((isDoubt, index) => isDoubt && doubts[index + 1] === true)).toBe(false);
      }),
    );
    expect(history(['ok', 'Timeout', 'Timeout', 'ok', 'ok']).map(isReadyInDoubt)).toEqual([false, true, false, false, false]);
  });

  it('turns only with two probes in a row on the same side', () => {
    fc.assert(
      fc.property(probes, (given) => {
        const states = history(given).map(({ ready }) => ready.shown.status === 'True');
        const turns = states.flatMap((state, index) => (index > 0 && state !== states[index - 1] ? [index] : []));
        return turns.every((index) => (given[index] === 'ok') === states[index] && (given[index - 1] === 'ok') === states[index]);
      }),
    );
  });

  it('agrees with the last two probes whenever these agree', () => {
    fc.assert(
      fc.property(probes, (given) => {
        const [before = given.at(-1), last] = given.slice(-2).length === 2 ? given.slice(-2) : [given[0], given[0]];
        const isOk = after(...given).ready.shown.status === 'True';
        return (before === 'ok') !== (last === 'ok') || isOk === (last === 'ok');
      }),
    );
  });

  it('is not ready while another aspect is False', () => {
    fc.assert(
      fc.property(probes, (given) =>
        history(given).every(({ ready, reachable, authorized }) =>
          ready.shown.status === 'True' ? reachable.shown.status !== 'False' && authorized.shown.status !== 'False' : true,
        ),
      ),
    );
  });
});

describe('conditions', () => {
  const conditions = (health: Health, previous: readonly ClusterCondition[] = [], now = NOW) =>
    clusterConditions(health, FRESH, previous, now);

  it('are four, Ready first', () => {
    expect(conditions(after('ok')).map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Ready=True',
      'Reachable=True',
      'Authorized=True',
      'CredentialFresh=True',
    ]);
  });

  it('move their transition time only with the status', () => {
    const first = conditions(after('Timeout'));
    const other = conditions(after('Timeout', 'DNSFailed', 'DNSFailed'), first, NOW + 60_000);
    expect(other.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(first.map(({ lastTransitionTime }) => lastTransitionTime));
    const turned = conditions(after('ok'), first, NOW + 60_000);
    expect(turned[0]?.lastTransitionTime).toBe('2026-03-01T12:01:00Z');
    expect(turned[3]?.lastTransitionTime).toBe('2026-03-01T12:00:00Z');
  });

  it('leave out what others have added', () => {
    const foreign = [{ type: 'Forged', status: 'True' }] as const;
    expect(conditions(after('ok'), foreign).map(({ type }) => type)).not.toContain('Forged');
  });

  it.each<readonly Probe[]>([['ok'], ['Timeout'], ['CredentialRejected'], ['NotReady']])(
    'tell the health after %s to the next start',
    (...given) => {
      expect(rememberedHealth(conditions(after(...given)))).toEqual(after(...given));
    },
  );

  it.each<readonly [string, readonly ClusterCondition[]]>([
    ['none', []],
    ['one of four', [{ type: 'Ready', status: 'True', reason: 'ClusterReady' }]],
    ['unknown reasons', ['Ready', 'Reachable', 'Authorized'].map((type) => ({ type, status: 'True', reason: 'toString' }))],
  ])('tell nothing when they are %s', (_, given) => expect(rememberedHealth(given)).toBeUndefined());
});
