import { describe, expect, it } from '@jest/globals';
import { AlertReason, FailureReason, IssueReason, ReadyReason, SetReason } from '../../src/api/reasons.ts';

const REASONS = [ReadyReason, IssueReason, FailureReason, AlertReason, SetReason].flatMap((group) => Object.entries<string>(group));

describe('reasons', () => {
  it('contains each reason in one group only', () => {
    const names = REASONS.map(([name]) => name);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(REASONS)('has a valid Kubernetes name and a phrase without a full stop for %s: %s', (name, phrase) => {
    expect(name).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(phrase).toMatch(/^[a-zP][^.]+[^.]$/);
  });
});
