import { describe, expect, it } from '@jest/globals';
import { SELF_SUBJECT_RULES_REVIEW, SUBJECT_ACCESS_REVIEW, TOKEN_REQUEST, TOKEN_REVIEW } from '../../src/kubernetes/reviews.ts';
import { encodeStruct } from '../../src/kubernetes/wire/encode-struct.ts';

describe('schemas of reviews', () => {
  it.each([
    [
      'all fields of a TokenRequest',
      TOKEN_REQUEST,
      {},
      '{"metadata":{},"spec":{"audiences":null,"expirationSeconds":null,"boundObjectRef":null},"status":{"token":"","expirationTimestamp":null}}',
    ],
    [
      'an empty user of a TokenReview',
      TOKEN_REVIEW,
      { spec: { audiences: ['a'], token: 't' }, status: { error: 'invalid bearer token' } },
      '{"metadata":{},"spec":{"token":"t","audiences":["a"]},"status":{"user":{},"error":"invalid bearer token"}}',
    ],
    [
      'the field allowed of a SubjectAccessReview',
      SUBJECT_ACCESS_REVIEW,
      { spec: { user: 'alice', resourceAttributes: { resource: 'secrets', verb: 'get', namespace: 'lab' } } },
      '{"metadata":{},"spec":{"resourceAttributes":{"namespace":"lab","verb":"get","resource":"secrets"},"user":"alice"},"status":{"allowed":false}}',
    ],
    [
      'extra values as lists',
      SUBJECT_ACCESS_REVIEW,
      { spec: { extra: { k: ['v'] } }, status: { allowed: true, reason: 'r' } },
      '{"metadata":{},"spec":{"extra":{"k":["v"]}},"status":{"allowed":true,"reason":"r"}}',
    ],
    [
      'both lists of a SelfSubjectRulesReview',
      SELF_SUBJECT_RULES_REVIEW,
      { status: { resourceRules: [{ verbs: ['get'], resources: ['secrets'], apiGroups: [''] }] } },
      '{"metadata":{},"spec":{},"status":{"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["secrets"]}],"nonResourceRules":null,"incomplete":false}}',
    ],
  ])('encodes %s', (_, schema, value, text) => {
    expect(encodeStruct(value, schema)).toBe(text);
  });
});
