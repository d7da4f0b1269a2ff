import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster, ClusterCondition } from '../../../src/api/cluster.gen.ts';
import { evaluateCredential, evaluateProbe, type FaultReason } from '../../../src/clusters/policy/conditions.ts';
import {
  computeUnreachableMs,
  type Health,
  isInDoubt,
  isProbeRetried,
  isReadyInDoubt,
  parseHealth,
  toConditions,
  updateHealth,
} from '../../../src/clusters/policy/health.ts';
import { formatTimestamp } from '../../../src/std/timestamp.ts';

const NOW = Date.parse('2026-03-01T12:00:00Z');
const CREDENTIAL = evaluateCredential({ type: 'stored', validity: {} }, NOW);

/** Probes by their outcome; `ok` is a probe without a fault. */
type Probe = FaultReason | 'ok';

function after(...probes: readonly Probe[]): Health {
  return history(probes).at(-1) as Health;
}

function history(probes: readonly Probe[]): readonly Health[] {
  let health: Health | undefined;
  return probes.map((probe) => {
    health = updateHealth(health, evaluateProbe({ faults: probe === 'ok' ? [] : [{ reason: probe, detail: '' }] }));
    return health;
  });
}

function formatHealth(health: Health): string {
  return (['Reachable', 'Authorized', 'Ready'] as const)
    .map((type) => health.get(type)?.shown)
    .map((finding) => `${finding?.status} ${finding?.reason}`)
    .join(', ');
}

function statusOf(health: Health, type: string): string | undefined {
  return health.get(type)?.shown.status;
}

const UP = 'True Responding, True PermissionsGranted, True ClusterReady';
const DOWN = 'False Timeout, Unknown NoResponse, False Timeout';

describe('updateHealth', () => {
  it.each<readonly [string, readonly Probe[], string]>([
    ['becomes True at the first success', ['ok'], UP],
    ['becomes False at the first failure', ['Timeout'], DOWN],
    ['ignores one failure', ['ok', 'Timeout'], UP],
    ['becomes False after two failures', ['ok', 'Timeout', 'Timeout'], DOWN],
    ['becomes False after two failures with different reasons', ['ok', 'ConnectionRefused', 'Timeout'], DOWN],
    ['ignores two failures with a success in between', ['ok', 'Timeout', 'ok', 'Timeout'], UP],
    ['ignores one success', ['Timeout', 'ok'], DOWN],
    ['becomes True after two successes', ['Timeout', 'ok', 'ok'], UP],
    ['ignores two successes with a failure in between', ['Timeout', 'ok', 'Timeout', 'ok'], DOWN],
    ['keeps the reason if another one occurs once', ['Timeout', 'DNSFailed'], DOWN],
    [
      'changes the reason if another one occurs twice',
      ['Timeout', 'DNSFailed', 'DNSFailed'],
      'False DNSFailed, Unknown NoResponse, False DNSFailed',
    ],
    ['keeps the reason if reasons alternate', ['Timeout', 'DNSFailed', 'Timeout', 'DNSFailed'], DOWN],
    [
      'reports a rejected credential',
      ['ok', 'CredentialRejected', 'CredentialRejected'],
      'True Responding, False CredentialRejected, False CredentialRejected',
    ],
    [
      'becomes Unknown if Purser is unable to probe',
      ['ok', 'ProbeFailed', 'ProbeFailed'],
      'Unknown ProbeFailed, Unknown ProbeFailed, Unknown ProbeFailed',
    ],
  ])('returns health that %s', (_, probes, expected) => expect(formatHealth(after(...probes))).toBe(expected));

  it('marks the health as uncertain after a probe with another result, until the next probe', () => {
    expect(history(['ok', 'Timeout', 'Timeout', 'ok', 'ok']).map(isInDoubt)).toEqual([false, true, false, true, false]);
  });

  const probe = fc.constantFrom<Probe>('ok', 'Timeout', 'DNSFailed', 'CredentialRejected', 'NotReady', 'ProbeFailed');
  const probes = fc.array(probe, { minLength: 1, maxLength: 40 });

  it('marks Ready as uncertain for at most one probe', () => {
    fc.assert(
      fc.property(probes, (given) => {
        const doubts = history(given).map(isReadyInDoubt);
        expect(doubts.some((isDoubt, index) => isDoubt && doubts[index + 1] === true)).toBe(false);
      }),
    );
    expect(history(['ok', 'Timeout', 'Timeout', 'ok', 'ok']).map(isReadyInDoubt)).toEqual([false, true, false, false, false]);
  });

  it('changes Ready only after two probes in a row with the same result', () => {
    fc.assert(
      fc.property(probes, (given) => {
        const states = history(given).map((health) => statusOf(health, 'Ready') === 'True');
        const turns = states.flatMap((state, index) => (index > 0 && state !== states[index - 1] ? [index] : []));
        return turns.every((index) => (given[index] === 'ok') === states[index] && (given[index - 1] === 'ok') === states[index]);
      }),
    );
  });

  it('shows the result of the last two probes if they agree', () => {
    fc.assert(
      fc.property(probes, (given) => {
        const [before = given.at(-1), last] = given.slice(-2).length === 2 ? given.slice(-2) : [given[0], given[0]];
        const isOk = statusOf(after(...given), 'Ready') === 'True';
        return (before === 'ok') !== (last === 'ok') || isOk === (last === 'ok');
      }),
    );
  });

  it('does not show Ready=True while another condition is False', () => {
    fc.assert(
      fc.property(probes, (given) =>
        history(given).every((health) =>
          statusOf(health, 'Ready') === 'True'
            ? statusOf(health, 'Reachable') !== 'False' && statusOf(health, 'Authorized') !== 'False'
            : true,
        ),
      ),
    );
  });
});

describe('isProbeRetried', () => {
  it.each<readonly [string, Health | undefined, boolean]>([
    ['of a new cluster', undefined, true],
    ['while Ready is missing', new Map([...after('ok')].filter(([type]) => type !== 'Ready')), true],
    ['while the last probe confirmed Ready=True', after('ok'), true],
    ['while the last probe contradicted Ready=True', after('ok', 'Timeout'), false],
    ['while Ready is False', after('Timeout'), false],
  ])('returns whether a failed probe %s is retried immediately', (_, health, expected) => {
    expect(isProbeRetried(health)).toBe(expected);
  });
});

describe('toConditions', () => {
  const conditions = (health: Health, previous: readonly ClusterCondition[] = [], now = NOW) =>
    toConditions(new Map([...[...health].map(([type, each]) => [type, each.shown] as const), ...CREDENTIAL]), previous, now);

  it('returns one condition for each row of the table, Ready first', () => {
    expect(conditions(after('ok')).map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Ready=True',
      'Reachable=True',
      'Authorized=True',
      'CredentialFresh=True',
    ]);
  });

  it('changes the transition time only with the status', () => {
    const first = conditions(after('Timeout'));
    const other = conditions(after('Timeout', 'DNSFailed', 'DNSFailed'), first, NOW + 60_000);
    expect(other.map(({ lastTransitionTime }) => lastTransitionTime)).toEqual(first.map(({ lastTransitionTime }) => lastTransitionTime));
    const turned = conditions(after('ok'), first, NOW + 60_000);
    expect(turned[0]?.lastTransitionTime).toBe('2026-03-01T12:01:00Z');
    expect(turned[3]?.lastTransitionTime).toBe('2026-03-01T12:00:00Z');
  });

  it('drops conditions of other types', () => {
    const foreign = [{ type: 'Forged', status: 'True' }] as const;
    expect(conditions(after('ok'), foreign).map(({ type }) => type)).not.toContain('Forged');
  });

  it.each<readonly Probe[]>([['ok'], ['Timeout'], ['CredentialRejected'], ['NotReady']])(
    'returns conditions after %s from which a restart parses the same health',
    (...given) => {
      expect(parseHealth(conditions(after(...given)))).toEqual(after(...given));
    },
  );

  it.each(['Ready', 'Reachable', 'Authorized'])('returns conditions from which a restart without %s parses the others', (missing) => {
    const rest = conditions(after('ok')).filter(({ type }) => type !== missing);
    expect(parseHealth(rest)).toEqual(new Map([...after('ok')].filter(([type]) => type !== missing)));
  });

  it.each(['Reachable', 'Authorized'])('returns conditions that without %s keep Ready=True after one failed probe', (missing) => {
    const restored = parseHealth(conditions(after('ok')).filter(({ type }) => type !== missing));
    const health = updateHealth(restored, evaluateProbe({ faults: [{ reason: 'Timeout', detail: '' }] }));
    expect(statusOf(health, 'Ready')).toBe('True');
    expect(isReadyInDoubt(health)).toBe(true);
    expect(statusOf(health, missing)).not.toBe('True');
  });

  it.each<readonly [string, readonly ClusterCondition[]]>([
    ['no conditions', []],
    ['only conditions that probes do not evaluate', [{ type: 'CredentialFresh', status: 'True', reason: 'CredentialValid' }]],
    ['conditions with unknown reasons', ['Ready', 'Reachable', 'Authorized'].map((type) => ({ type, status: 'True', reason: 'toString' }))],
  ])('lets parseHealth return undefined for a status with %s', (_, given) => expect(parseHealth(given)).toBeUndefined());
});

const PROBE_MS = 10_000;

function reporting(status: 'True' | 'False' | 'Unknown', lastHeartbeatTime?: string): Cluster {
  const condition = { type: 'Reachable', status, ...(lastHeartbeatTime !== undefined && { lastHeartbeatTime }) };
  return {
    status: { conditions: [{ type: 'Ready', status: 'False', lastHeartbeatTime: formatTimestamp(NOW) }, condition] },
  } as unknown as Cluster;
}

describe('computeUnreachableMs', () => {
  it.each([
    ['now', 0, 20_000],
    ['a probe ago', 10_000, 10_000],
    ['just within two probes', 19_000, 1_000],
    ['two probes ago', 20_000, 0],
    ['hours ago', 7_200_000, 0],
    ['5 s in the future', -5_000, 25_000],
    ['an hour in the future', -3_600_000, 0],
  ])('returns the rest of two probe intervals for a heartbeat %s', (_when, ageMs, leftMs) => {
    expect(computeUnreachableMs(reporting('False', formatTimestamp(NOW - ageMs)), PROBE_MS, NOW)).toBe(leftMs);
  });

  it.each([
    ['Reachable=True', reporting('True', formatTimestamp(NOW))],
    ['Reachable=Unknown', reporting('Unknown', formatTimestamp(NOW))],
    ['no heartbeat', reporting('False')],
    ['an invalid heartbeat', reporting('False', 'soon')],
    ['no status', {} as Cluster],
  ])('returns 0 for a Cluster with %s', (_case, cluster) => {
    expect(computeUnreachableMs(cluster, PROBE_MS, NOW)).toBe(0);
  });
});
