import { describe, expect, it } from '@jest/globals';
import { parseDeleteOptions } from '../../../apiserver/endpoints/write.ts';
import type { StatusError } from '../../../src/kubernetes/status.ts';
import { formatBody } from '../../../src/kubernetes/wire/encode.ts';
import { parseListOptions, validateListOptions } from '../../../src/kubernetes/wire/list-options.ts';
import { parsePatchOptions, parseTimeoutMs, parseWriteOptions, resolveFieldManager } from '../../../src/kubernetes/wire/options.ts';
import { encodeOrderedJson } from '../../../src/kubernetes/wire/ordered-json.ts';
import { recordings } from '../../support/golden.ts';
import { queryOf } from './recorded.ts';

const query = (text: string) => new URLSearchParams(text);
const EMPTY_BODY = Buffer.alloc(0);

function rejection(run: () => unknown): StatusError {
  try {
    run();
  } catch (error) {
    return error as StatusError;
  }
  throw new Error('accepted');
}

function bodyOf({ status }: StatusError): string {
  return formatBody(encodeOrderedJson(status), { mediaType: 'json', pretty: false });
}

describe('parseWriteOptions', () => {
  const rejected = recordings('token-requests').filter(({ response: { body = '' } }) => body.includes('CreateOptions.meta.k8s.io'));

  it.each(rejected.map((exchange) => [exchange.name, exchange] as const))('rejects %s as recorded', (_, exchange) => {
    expect(bodyOf(rejection(() => parseWriteOptions(queryOf(exchange), 'CreateOptions')))).toBe(exchange.response.body);
  });

  it('sets field validation to Warn by default', () => {
    expect(parseWriteOptions(query(''), 'CreateOptions')).toEqual({ dryRun: false, fieldManager: '', fieldValidation: 'Warn' });
    expect(parseWriteOptions(query('fieldValidation=&dryRun=All&dryRun=All&fieldManager=me'), 'UpdateOptions')).toEqual({
      dryRun: true,
      fieldManager: 'me',
      fieldValidation: 'Warn',
    });
  });

  it('returns the first value of a repeated parameter', () => {
    expect(parseWriteOptions(query('fieldValidation=Strict&fieldValidation=Nonsense'), 'CreateOptions').fieldValidation).toBe('Strict');
  });

  it('reports every unprintable character of a manager with its byte offset', () => {
    expect(rejection(() => parseWriteOptions(query('fieldManager=%C3%A9%0A%C2%A0'), 'UpdateOptions')).message).toBe(
      String.raw`UpdateOptions.meta.k8s.io "" is invalid: [fieldManager: Invalid value: "é\n\u00a0": invalid character U+000A (at position 2), ` +
        String.raw`fieldManager: Invalid value: "é\n\u00a0": invalid character U+00A0 (at position 3)]`,
    );
  });

  it.each([128, 129])('reports the limit of kube-apiserver for a manager of %i characters if 127 are allowed', (length) => {
    expect(rejection(() => parseWriteOptions(query(`fieldManager=${'m'.repeat(length)}`), 'CreateOptions', 127)).message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    );
  });

  it('reports only the length of a manager that is too long', () => {
    expect(rejection(() => parseWriteOptions(query(`fieldManager=${'%01'.repeat(4_800)}`), 'CreateOptions')).message).toBe(
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Too long: may not be more than 128 bytes',
    );
  });
});

describe('parsePatchOptions', () => {
  it('rejects an apply without a manager, and force without an apply', () => {
    expect(rejection(() => parsePatchOptions(query(''), true)).message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
    expect(rejection(() => parsePatchOptions(query('force='), false)).message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: force: Forbidden: may not be specified for non-apply patch',
    );
    expect(parsePatchOptions(query('fieldManager=me&force'), true).force).toBe(true);
    expect(parsePatchOptions(query('fieldManager=me&force=False'), true).force).toBe(false);
  });
});

describe('parseDeleteOptions', () => {
  it('returns the options of the query without a body', () => {
    const text = 'gracePeriodSeconds=5&propagationPolicy=Background&dryRun=All';
    expect(parseDeleteOptions(query(text), EMPTY_BODY, undefined)).toEqual({ dryRun: true });
  });

  it.each(['{}', 'null', '{"kind":"DeleteOptions","apiVersion":"apps/v1"}', '{"zzz":1,"zzz":2}'])(
    'ignores the query with a body such as %s',
    (body) => {
      expect(parseDeleteOptions(query('dryRun=Nonsense'), Buffer.from(body), undefined)).toEqual({ dryRun: false });
    },
  );

  it('accepts a YAML body', () => {
    expect(parseDeleteOptions(query(''), Buffer.from('preconditions: {uid: u}'), 'application/yaml')).toEqual({
      dryRun: false,
      preconditions: { uid: 'u' },
    });
  });

  it.each([
    ['{"apiVersion":"v1","kind":"Foo"}', 'no kind "Foo" is registered for version "v1" in scheme "pkg/runtime/scheme.go:111"'],
    ['{"gracePeriodSeconds":"x"}', 'json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64'],
    ['{"preconditions":{"uid":5}}', 'json: cannot unmarshal number into Go struct field Preconditions.preconditions.uid of type types.UID'],
    ['{', "couldn't get version/kind; json parse error: unexpected end of JSON input"],
    ['{"apiVersion":"a/b/c"}', 'unexpected GroupVersion string: a/b/c'],
    ['{"apiVersion":"x/"}', `Object 'apiVersion' is missing in '{"apiVersion":"x/"}'`],
    [
      '{"propagationPolicy":"Foreground","dryRun":["x"]}',
      'DeleteOptions.meta.k8s.io "" is invalid: [propagationPolicy: Forbidden: the local API server does not support the propagation policy Foreground; use a real cluster, ' +
        'dryRun: Unsupported value: ["x"]: supported values: "All"]',
    ],
  ])('rejects the body %s', (body, message) => {
    expect(rejection(() => parseDeleteOptions(query(''), Buffer.from(body), undefined)).message).toBe(message);
  });

  it.each([
    [
      'orphanDependents=',
      'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Forbidden: the local API server does not support the propagation policy Orphan; use a real cluster',
    ],
    ['dryRun=All&dryRun=', 'DeleteOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["All",""]: supported values: "All"'],
  ])('rejects the query %s', (text, message) => {
    expect(rejection(() => parseDeleteOptions(query(text), EMPTY_BODY, undefined)).message).toBe(message);
  });
});

describe('parseListOptions', () => {
  it.each([
    ['watch=zzz', true],
    ['watch=', true],
    ['watch=0', false],
    ['watch=FALSE', false],
    ['watch=0&watch=1', false],
    ['', false],
  ])('parses the query %j as watch=%s', (text, watch) => {
    expect(parseListOptions(query(text)).watch).toBe(watch);
  });

  const rejected = recordings('cluster-lists').filter(({ response: { body = '' } }) => /ListOptions|strconv.ParseInt/.test(body));

  it.each(rejected.map((exchange) => [exchange.name, exchange] as const))('rejects %s as recorded', (_, exchange) => {
    const run = () => {
      const options = parseListOptions(queryOf(exchange));
      return validateListOptions(options, options);
    };
    expect(bodyOf(rejection(run))).toBe(exchange.response.body);
  });

  const accepted = recordings('cluster-lists').filter(({ response: { status } }) => status === 200);

  it.each(accepted.map((exchange) => [exchange.name, exchange] as const))('accepts %s as recorded', (_, exchange) => {
    const options = parseListOptions(queryOf(exchange));
    expect(() => validateListOptions(options, options)).not.toThrow();
  });
});

describe('validateListOptions', () => {
  it('requests the initial events of a watch without a start version', () => {
    const validate = (text: string) => validateListOptions(parseListOptions(query(text)), { watch: true });
    expect(validate('')).toMatchObject({ sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' });
    expect(validate('resourceVersion=0')).toMatchObject({ sendInitialEvents: true });
    expect(validate('resourceVersion=5').sendInitialEvents).toBeUndefined();
  });

  it.each([
    [
      'resourceVersion=5&resourceVersionMatch=Exact&continue=x',
      false,
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided',
    ],
    ['sendInitialEvents=true', false, 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'],
    [
      'resourceVersionMatch=Exact',
      true,
      '[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided, resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]',
    ],
  ])('rejects %s', (text, watch, message) => {
    expect(rejection(() => validateListOptions(parseListOptions(query(text)), { watch })).message).toBe(
      `ListOptions.meta.k8s.io "" is invalid: ${message}`,
    );
  });
});

describe('parseTimeoutMs', () => {
  it.each([
    ['', 60_000],
    ['timeout=', 60_000],
    ['timeout=5s', 5000],
    ['timeout=0', 60_000],
    ['timeout=-5s', 60_000],
    ['timeout=2m', 60_000],
  ])('parses %j as %d', (text, timeoutMs) => {
    expect(parseTimeoutMs(query(text))).toBe(timeoutMs);
  });

  it.each([
    ['abc', 'time: invalid duration "abc"'],
    ['5', 'time: missing unit in duration "5"'],
    ['5x', 'time: unknown unit "x" in duration "5x"'],
  ])('rejects %j', (text, message) => {
    const error = rejection(() => parseTimeoutMs(query(`timeout=${text}`)));
    expect(error.message).toBe(`invalid timeout specified in the request URL - ${message}`);
    expect(error.code).toBe(400);
  });
});

describe('resolveFieldManager', () => {
  it.each([
    ['me', 'kubectl/v1', 'me'],
    ['', 'kubectl/v1.36.4 (linux/amd64)', 'kubectl'],
    ['', 'a\tb c', 'ab c'],
    ['', Buffer.from('é'.repeat(100)).toString('latin1'), 'é'.repeat(64)],
    ['', '', 'unknown'],
    ['', undefined, 'unknown'],
    ['', '/x', 'unknown'],
  ])('returns the manager for the option %j and User-Agent %j: %j', (fieldManager, userAgent, name) => {
    expect(resolveFieldManager(fieldManager, userAgent)).toBe(name);
  });
});
