import { describe, expect, it } from '@jest/globals';
import { invalidValue, requiredValue } from '../../src/kubernetes/field-error.ts';
import {
  aggregate,
  alreadyExists,
  badRequest,
  conflict,
  expired,
  forbidden,
  formatQualifiedName,
  hasReason,
  internalError,
  invalid,
  isStatusReason,
  modified,
  notFound,
  reasonOfCode,
  type Status,
  type StatusError,
  serviceUnavailable,
  statusError,
  tooManyRequests,
  unauthorized,
  unclassified,
} from '../../src/kubernetes/status.ts';

const secrets = { group: '', name: 'secrets' };
const clusters = { group: 'registry.purser.dev', name: 'clusters' };

describe('API errors', () => {
  const secretA = { name: 'a', kind: 'secrets' };
  const clusterA = { name: 'a', group: 'registry.purser.dev', kind: 'clusters' };
  const stale = 'the object has been modified; please apply your changes to the latest version and try again';

  it.each<[StatusError, Partial<Status>]>([
    [badRequest('no'), { reason: 'BadRequest', code: 400, message: 'no' }],
    [unauthorized(), { reason: 'Unauthorized', code: 401, message: 'Unauthorized' }],
    [forbidden(secrets, 'a', 'why'), { reason: 'Forbidden', code: 403, message: 'secrets "a" is forbidden: why', details: secretA }],
    [
      forbidden(clusters, '', 'why'),
      {
        reason: 'Forbidden',
        code: 403,
        message: 'clusters.registry.purser.dev is forbidden: why',
        details: { group: clusters.group, kind: 'clusters' },
      },
    ],
    [
      forbidden(secrets, 'a', 'why', [{ message: 'm' }]),
      { reason: 'Forbidden', code: 403, message: 'secrets "a" is forbidden: why', details: { ...secretA, causes: [{ message: 'm' }] } },
    ],
    [
      notFound(secrets, 'a"b'),
      { reason: 'NotFound', code: 404, message: 'secrets "a\\"b" not found', details: { ...secretA, name: 'a"b' } },
    ],
    [notFound(clusters, 'a'), { reason: 'NotFound', code: 404, message: 'clusters.registry.purser.dev "a" not found', details: clusterA }],
    [alreadyExists(secrets, 'a'), { reason: 'AlreadyExists', code: 409, message: 'secrets "a" already exists', details: secretA }],
    [
      alreadyExists(secrets, 'a', 'again: '),
      { reason: 'AlreadyExists', code: 409, message: 'again: secrets "a" already exists', details: secretA },
    ],
    [
      conflict(secrets, 'a', 'why'),
      { reason: 'Conflict', code: 409, message: 'Operation cannot be fulfilled on secrets "a": why', details: secretA },
    ],
    [
      modified(secrets, 'a'),
      { reason: 'Conflict', code: 409, message: `Operation cannot be fulfilled on secrets "a": ${stale}`, details: secretA },
    ],
    [expired('too old'), { reason: 'Expired', code: 410, message: 'too old' }],
    [
      internalError('disk'),
      { reason: 'InternalError', code: 500, message: 'Internal error occurred: disk', details: { causes: [{ message: 'disk' }] } },
    ],
    [
      serviceUnavailable('starting', 1),
      { reason: 'ServiceUnavailable', code: 503, message: 'starting', details: { retryAfterSeconds: 1 } },
    ],
    [tooManyRequests('slow down', 2), { reason: 'TooManyRequests', code: 429, message: 'slow down', details: { retryAfterSeconds: 2 } }],
    [unclassified('boom'), { code: 500, message: 'boom' }],
  ])('creates an error with the message %s', (error, expected) => {
    expect(error.status).toEqual({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...expected });
    expect(error.message).toBe(expected.message);
  });

  it('orders the fields of a Status like Kubernetes', () => {
    expect(Object.keys(notFound(secrets, 'a').status)).toEqual([
      'kind',
      'apiVersion',
      'metadata',
      'status',
      'message',
      'reason',
      'details',
      'code',
    ]);
  });

  it('lists every invalid field', () => {
    const errors = [requiredValue('spec.a'), invalidValue('spec.b', 5, 'must be larger')];
    const { status } = invalid({ group: 'registry.purser.dev', name: 'Cluster' }, 'c', errors);
    expect(status.code).toBe(422);
    expect(status.message).toBe(
      'Cluster.registry.purser.dev "c" is invalid: [spec.a: Required value, spec.b: Invalid value: 5: must be larger]',
    );
    expect(status.details).toEqual({
      name: 'c',
      group: 'registry.purser.dev',
      kind: 'Cluster',
      causes: [
        { reason: 'FieldValueRequired', message: 'Required value', field: 'spec.a' },
        { reason: 'FieldValueInvalid', message: 'Invalid value: 5: must be larger', field: 'spec.b' },
      ],
    });
  });

  it('keeps the cause of an error', () => {
    const cause = new Error('disk full');
    expect(internalError('disk', { cause }).cause).toBe(cause);
    expect(statusError('Timeout', 'late', undefined, { cause }).cause).toBe(cause);
  });
});

describe('StatusError', () => {
  it('returns code, reason and retry delay', () => {
    const error = tooManyRequests('slow down', 2);
    expect([error.name, error.code, error.reason, error.retryAfterSeconds]).toEqual(['StatusError', 429, 'TooManyRequests', 2]);
    expect(badRequest('no').retryAfterSeconds).toBeUndefined();
  });
});

describe('hasReason', () => {
  it.each([
    [notFound(secrets, 'a'), true],
    [modified(secrets, 'a'), true],
    [badRequest('no'), false],
    [unclassified('boom'), false],
    [new Error('NotFound'), false],
    [undefined, false],
  ])('checks the reason of %s: %j', (error, expected) => {
    expect(hasReason(error, 'NotFound', 'Conflict')).toBe(expected);
  });
});

describe('reasonOfCode', () => {
  it.each([
    [404, 'NotFound'],
    [410, 'Gone'],
    [500, 'InternalError'],
    [418, undefined],
  ])('maps the code %d to %s', (code, reason) => {
    expect(reasonOfCode(code)).toBe(reason);
  });
});

describe('isStatusReason', () => {
  it.each([
    ['NotFound', true],
    ['Unheard', false],
    ['toString', false],
  ])('recognizes %s as a reason: %j', (text, expected) => {
    expect(isStatusReason(text)).toBe(expected);
  });
});

describe('formatQualifiedName', () => {
  it.each([
    [secrets, 'secrets'],
    [clusters, 'clusters.registry.purser.dev'],
  ])('formats %j as %s', (resource, name) => {
    expect(formatQualifiedName(resource)).toBe(name);
  });
});

describe('aggregate', () => {
  it.each([
    [['a'], 'a'],
    [['a', 'a'], 'a'],
    [['b', 'a', 'b'], '[b, a]'],
  ])('joins %j to %s', (texts, text) => {
    expect(aggregate(texts)).toBe(text);
  });
});
