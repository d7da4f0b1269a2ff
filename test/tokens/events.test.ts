import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { FailureReason } from '../../src/api/reasons.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { notesOf } from '../../src/tokens/events.ts';
import { failureOf, type Step } from '../../src/tokens/step.ts';
import { aToken } from '../support/builders.ts';

function told(step: Partial<Step>, next = {}): readonly string[] {
  const token = { metadata: {}, spec: { revocation: 'None', rotation: { renewBefore: '8h' } } };
  const observation = { token, former: [] } as unknown as Step['observation'];
  return notesOf({ observation, isDone: true, ...step }, { previous: {}, next }, undefined).map(({ message }) => message);
}

describe('what people are told', () => {
  it.each(Object.keys(FailureReason) as (keyof typeof FailureReason)[])('of %s is a sentence', (reason) => {
    fc.assert(
      fc.property(fc.constantFrom('', 'a detail', 'somebody (else)'), (detail) => {
        expect(told({ failure: failureOf(new IssueError(reason, detail), aToken().build()) })).toEqual([
          expect.stringMatching(/^[A-Z].*[.)]$/),
        ]);
      }),
    );
  });

  it('of an expiry and of a revocation in vain are sentences', () => {
    const conditions = [{ type: 'Ready', status: 'False', reason: 'Expired' }];
    const messages = told({}, { conditions, lastRevokeRequest: '1' });

    expect(messages).toHaveLength(2);
    for (const message of messages) expect(message).toMatch(/^[A-Z].*\.$/);
  });
});
