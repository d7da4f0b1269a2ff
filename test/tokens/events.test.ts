import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { FailureReason } from '../../src/api/reasons.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import type { IssuanceAttempt } from '../../src/telemetry/metrics.ts';
import { countIssuance, deriveEvents } from '../../src/tokens/events.ts';
import type { IssuePlan } from '../../src/tokens/policy/plan.ts';
import { computeRenewAt } from '../../src/tokens/policy/rotation.ts';
import { type Step, toFailure } from '../../src/tokens/run.ts';
import { aToken, NOON } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';

function messagesOf(step: Partial<Step>, next = {}): readonly string[] {
  const token = { metadata: {}, spec: { revocation: 'None', rotation: { renewBefore: '8h' } } };
  const observation = { token, former: [] } as unknown as Step['observation'];
  return deriveEvents({ observation, isDone: true, ...step }, { previous: {}, next }, undefined).map(({ message }) => message);
}

describe('deriveEvents', () => {
  it.each(Object.keys(FailureReason) as (keyof typeof FailureReason)[])('returns a sentence for %s', (reason) => {
    fc.assert(
      fc.property(fc.constantFrom('', 'a detail', 'a detail (in parentheses)'), (detail) => {
        expect(messagesOf({ failure: toFailure(new IssueError(reason, detail), aToken().build()) })).toEqual([
          expect.stringMatching(/^[A-Z].*[.)]$/),
        ]);
      }),
    );
  });

  it('returns sentences for an expiry and for a revocation without an anchor', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Expired' }];
    const messages = messagesOf({}, { conditions, lastRevokeRequest: '1' });

    expect(messages).toHaveLength(2);
    for (const message of messages) expect(message).toMatch(/^[A-Z].*\.$/);
  });
});

const token = aToken().build();
const previous = { issuedAt: NOON, expiresAt: NOON + 3_600_000 };
const dueAt = computeRenewAt(previous, token.spec.rotation.renewBefore, token.metadata.uid ?? '');

function latenessOf(reason: IssuePlan['reason']): number | undefined {
  const recorded: IssuanceAttempt[] = [];
  const metrics = { recordIssuance: (issuance: IssuanceAttempt) => void recorded.push(issuance) };
  const deps = { metrics, clock: new FakeClock(dueAt + 90_000), uid: token.metadata.uid } as unknown as Parameters<typeof countIssuance>[0];
  const step = { observation: { token }, isDone: false, issued: reason } as unknown as Parameters<typeof countIssuance>[2];
  countIssuance(deps, { reason, previous } as unknown as IssuePlan, step, 20);
  return recorded[0]?.latenessMs;
}

describe('countIssuance', () => {
  it('records the lateness of a renewal relative to its scheduled time, and none for other issuances', () => {
    expect([latenessOf('RotationDue'), latenessOf('SpecChanged')]).toEqual([90_000, undefined]);
  });
});
