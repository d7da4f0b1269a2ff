import { describe, expect, it } from '@jest/globals';
import { matchTemplate } from './golden-template.ts';

const uid = (digit: string) => `ab92bebf-09c1-471d-81fe-84e58441${digit.repeat(4)}`;
const continueToken = (rv: number, start: string) => Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv, start })).toString('base64url');

describe('matchTemplate', () => {
  it.each([
    ['UIDs', `"uid":"${uid('a')}"`, `"uid":"${uid('b')}"`],
    ['times', '"time":"2026-11-15T00:07:14Z"', '"time":"2027-01-01T00:00:00Z"'],
    ['resource versions', '"resourceVersion":"288"', '"resourceVersion":"31"'],
    ['resource versions in YAML', 'resourceVersion: "288"', 'resourceVersion: "31"'],
    ['resource versions in messages', 'too old resource version: 1 (263)', 'too old resource version: 1 (7)'],
    ['tokens', '"token":"<jwt>"', '"token":"eyJhbGciOiJSUzI1NiJ9.e30.c2ln"'],
    ['ages', '["one","0s"],"object":{}', '["one","12s"],"object":{}'],
    ['revisions of continue tokens', `"${continueToken(288, '/c10\0')}"`, `"${continueToken(3, '/c10\0')}"`],
    ['packages of schemes', 'in scheme \\"pkg/scheme.go:30\\"', 'in scheme \\"other/scheme.go:7\\"'],
  ])('matches different %s', (_, recorded, actual) => {
    expect(matchTemplate(recorded, actual).expected).toBe(actual);
  });

  it.each([
    ['other text', '{"a":"x"}', '{"a":"y"}'],
    ['more text', '{"a":1}', '{"a":1}\n'],
    ['less text', '{"a":1}\n', '{"a":1}'],
    ['another time of a request', '"2026-11-15T00:00:00Z"', '"2026-11-15T00:00:01Z"'],
    ['a time with another precision', '"2026-11-15T00:07:14Z"', '"2026-11-15T00:07:14.000Z"'],
    ['another UID of a request', '11111111-1111-1111-1111-111111111111', '22222222-1111-1111-1111-111111111111'],
    ['a different resource version than 1', '"resourceVersion":"1"', '"resourceVersion":"2"'],
    ['a resource version that is a number', '"resourceVersion":"288"', '"resourceVersion":288'],
    ['another start of a continue token', continueToken(288, '/c10\0'), continueToken(288, '/c11\0')],
  ])('does not match %s', (_, recorded, actual) => {
    expect(matchTemplate(recorded, actual).expected).not.toBe(actual);
  });
});
