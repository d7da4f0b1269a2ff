import { describe, expect, it } from '@jest/globals';
import { parseAccessDecision } from '../../src/access/hub-review.ts';

describe('parseAccessDecision', () => {
  it.each([
    ['an allowed review', { allowed: true }, { allowed: true, evaluationError: '' }],
    ['an allowed review with an error', { allowed: true, evaluationError: 'gone' }, { allowed: true, evaluationError: 'gone' }],
    ['a denied review', { allowed: false }, { allowed: false, evaluationError: '' }],
    ['a denied review with an error', { allowed: false, evaluationError: 'gone' }, { allowed: false, evaluationError: 'gone' }],
    ['a review without a decision as denied', {}, { allowed: false, evaluationError: '' }],
    ['a review that is allowed and denied as denied', { allowed: true, denied: true }, { allowed: false, evaluationError: '' }],
  ])('reads %s', (_name, status, expected) => {
    expect(parseAccessDecision({ kind: 'SubjectAccessReview', status })).toEqual(expected);
  });

  it.each([
    ['no response', undefined],
    ['no status', {}],
    ['a status of null', { status: null }],
    ['a list', { status: [] }],
    ['a string for allowed', { status: { allowed: 'true' } }],
    ['null for allowed', { status: { allowed: null } }],
    ['a string for denied', { status: { allowed: true, denied: 'no' } }],
    ['an error that is not a string', { status: { allowed: false, evaluationError: {} } }],
  ])('returns undefined for %s', (_name, review) => {
    expect(parseAccessDecision(review)).toBeUndefined();
  });
});
