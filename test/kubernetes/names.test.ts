import { describe, expect, it } from '@jest/globals';
import {
  validateDns1123Label,
  validateDns1123Subdomain,
  validateLabelValue,
  validatePathSegment,
  validatePathSegmentPrefix,
  validateQualifiedName,
} from '../../src/kubernetes/names.ts';

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const KEY =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

describe('validateDns1123Subdomain', () => {
  it.each([
    ['a', []],
    ['a.b-c.1', []],
    ['a'.repeat(253), []],
    ['', [SUBDOMAIN]],
    ['A', [SUBDOMAIN]],
    ['a..b', [SUBDOMAIN]],
    ['a-', [SUBDOMAIN]],
    ['a\n', [SUBDOMAIN]],
    ['a'.repeat(254), ['must be no more than 253 characters']],
    [`-${'a'.repeat(253)}`, ['must be no more than 253 characters', SUBDOMAIN]],
  ])('returns the problems of %j', (name, problems) => {
    expect(validateDns1123Subdomain(name)).toEqual(problems);
  });
});

describe('validateDns1123Label', () => {
  it.each([
    ['a', []],
    ['a'.repeat(63), []],
    ['', [LABEL]],
    ['a.b', ['must not contain dots']],
    ['a_b', [LABEL]],
    ['a'.repeat(64), ['must be no more than 63 characters']],
    [`${'a'.repeat(64)}.b`, ['must be no more than 63 characters', 'must not contain dots']],
  ])('returns the problems of %j', (name, problems) => {
    expect(validateDns1123Label(name)).toEqual(problems);
  });
});

describe('validateQualifiedName', () => {
  it.each([
    ['a', []],
    ['My_Name.1', []],
    ['example.com/MyName', []],
    [`${'a'.repeat(253)}/${'b'.repeat(63)}`, []],
    ['', ['name part must be non-empty', `name part ${KEY}`]],
    ['/a', ['prefix part must be non-empty']],
    ['a/', ['name part must be non-empty', `name part ${KEY}`]],
    ['/', ['prefix part must be non-empty', 'name part must be non-empty', `name part ${KEY}`]],
    ['A.com/b', [`prefix part ${SUBDOMAIN}`]],
    ['a'.repeat(64), ['name part must be no more than 63 bytes']],
    ['é'.repeat(32), ['name part must be no more than 63 bytes', `name part ${KEY}`]],
    ['a/b/c', [`a valid label key ${KEY} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]],
  ])('returns the problems of %j', (name, problems) => {
    expect(validateQualifiedName(name)).toEqual(problems);
  });
});

describe('validateLabelValue', () => {
  it.each([
    ['', []],
    ['a', []],
    ['-a', [LABEL_VALUE]],
    ['a b', [LABEL_VALUE]],
    ['a'.repeat(64), ['must be no more than 63 bytes']],
    [`${'a'.repeat(64)}-`, ['must be no more than 63 bytes', LABEL_VALUE]],
  ])('returns the problems of %j', (value, problems) => {
    expect(validateLabelValue(value)).toEqual(problems);
  });
});

describe('validatePathSegment', () => {
  it.each([
    ['system:node', []],
    ['', []],
    ['.', ["may not be '.'"]],
    ['..', ["may not be '..'"]],
    ['a/b%c', ["may not contain '/'", "may not contain '%'"]],
  ])('returns the problems of %j', (name, problems) => {
    expect(validatePathSegment(name)).toEqual(problems);
  });

  it('accepts a name of dots as a prefix', () => {
    expect(validatePathSegmentPrefix('..')).toEqual([]);
    expect(validatePathSegmentPrefix('%')).toEqual(["may not contain '%'"]);
  });
});
