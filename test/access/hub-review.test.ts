import { describe, expect, it } from '@jest/globals';
import { parseAccessDecision } from '../../src/access/hub-review.ts';

describe('parseAccessDecision', () => {
  it.each([
    ['yes', { allowed: true }, { allowed: true, evaluationError: '' }],
    ['yes, in spite of an error', { allowed: true, evaluationError: 'gone' }, { allowed: true, evaluationError: 'gone' }],
    ['no', { allowed: false }, { allowed: false, evaluationError: '' }],
    ['no, with an error', { allowed: false, evaluationError: 'gone' }, { allowed: false, evaluationError: 'gone' }],
    ['no for want of a yes', {}, { allowed: false, evaluationError: '' }],
    ['no where it is denied, too', { allowed: true, denied: true }, { allowed: false, evaluationError: '' }],
  ])('reads %s', (_name, status, expected) => {
    expect(parseAccessDecision({ kind: 'SubjectAccessReview', status })).toEqual(expected);
  });

  it.each([
    ['no answer', undefined],
    ['no status', {}],
    ['a status of null', { status: null }],
    ['a list', { status: [] }],
    ['a text for a yes', { status: { allowed: 'true' } }],
    ['null for a yes', { status: { allowed: null } }],
    ['a text for a denial', { status: { allowed: true, denied: 'no' } }],
    ['an error that is no text', { status: { allowed: false, evaluationError: {} } }],
  ])('finds no decision in %s', (_name, review) => {
    expect(parseAccessDecision(review)).toBeUndefined();
  });
});
