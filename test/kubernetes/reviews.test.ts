import { describe, expect, it } from '@jest/globals';
import { SELF_SUBJECT_RULES_REVIEW, SUBJECT_ACCESS_REVIEW, TOKEN_REQUEST, TOKEN_REVIEW } from '../../src/kubernetes/reviews.ts';
import { structText } from '../../src/kubernetes/wire/struct-text.ts';

describe('reviews', () => {
  it.each([
    [
      'a token request always shows all of its fields',
      TOKEN_REQUEST,
      {},
      '{"metadata":{},"spec":{"audiences":null,"expirationSeconds":null,"boundObjectRef":null},"status":{"token":"","expirationTimestamp":null}}',
    ],
    [
      'a token review shows a user, if an empty one',
      TOKEN_REVIEW,
      { spec: { audiences: ['a'], token: 't' }, status: { error: 'invalid bearer token' } },
      '{"metadata":{},"spec":{"token":"t","audiences":["a"]},"status":{"user":{},"error":"invalid bearer token"}}',
    ],
    [
      'an access review always says whether access is allowed',
      SUBJECT_ACCESS_REVIEW,
      { spec: { user: 'alice', resourceAttributes: { resource: 'secrets', verb: 'get', namespace: 'lab' } } },
      '{"metadata":{},"spec":{"resourceAttributes":{"namespace":"lab","verb":"get","resource":"secrets"},"user":"alice"},"status":{"allowed":false}}',
    ],
    [
      'extra values are lists',
      SUBJECT_ACCESS_REVIEW,
      { spec: { extra: { k: ['v'] } }, status: { allowed: true, reason: 'r' } },
      '{"metadata":{},"spec":{"extra":{"k":["v"]}},"status":{"allowed":true,"reason":"r"}}',
    ],
    [
      'a rules review always has both lists',
      SELF_SUBJECT_RULES_REVIEW,
      { status: { resourceRules: [{ verbs: ['get'], resources: ['secrets'], apiGroups: [''] }] } },
      '{"metadata":{},"spec":{},"status":{"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}],"nonResourceRules":null,"incomplete":false}}',
    ],
  ])('%s', (_, schema, value, text) => {
    expect(structText(value, schema)).toBe(text);
  });
});
