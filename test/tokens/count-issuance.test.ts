import { expect, it } from '@jest/globals';
import type { Issuance } from '../../src/telemetry/metrics.ts';
import { countIssuance } from '../../src/tokens/count-issuance.ts';
import type { IssuePlan } from '../../src/tokens/policy/plan.ts';
import { renewAt } from '../../src/tokens/policy/rotation.ts';
import { aToken, NOON } from '../support/builders.ts';
import { FakeClock } from '../support/clock.ts';

const token = aToken().build();
const previous = { issuedAt: NOON, expiresAt: NOON + 3_600_000 };
const dueAt = renewAt(previous, token.spec.rotation.renewBefore, token.metadata.uid ?? '');

function counted(reason: IssuePlan['reason']): number | undefined {
  const told: Issuance[] = [];
  const metrics = { issued: (issuance: Issuance) => void told.push(issuance) };
  const deps = { metrics, clock: new FakeClock(dueAt + 90_000) } as unknown as Parameters<typeof countIssuance>[0];
  const step = { observation: { token }, isDone: false, issued: reason } as unknown as Parameters<typeof countIssuance>[2];
  countIssuance(deps, { reason, previous } as unknown as IssuePlan, step, 20);
  return told[0]?.latenessMs;
}

it('tells how late a renewal was by its own time, not by that of the last retry', () => {
  expect([counted('RotationDue'), counted('SpecChanged')]).toEqual([90_000, undefined]);
});
