import { describe, expect, it } from '@jest/globals';
import type { StatusError } from '../../../src/kubernetes/status.ts';
import { parseBodyMediaType, parsePatchType } from '../../../src/kubernetes/wire/content-type.ts';
import { formatBody } from '../../../src/kubernetes/wire/encode.ts';
import { checkStreamable, isPretty, negotiate, negotiateError } from '../../../src/kubernetes/wire/negotiate.ts';
import { encodeOrderedJson } from '../../../src/kubernetes/wire/ordered-json.ts';
import { recordings } from '../../support/golden.ts';
import { queryOf } from './recorded.ts';

const builtIn = { builtIn: true, tables: true };
const custom = { builtIn: false, tables: true };

function preferencesFor(accept: string | undefined, rest: { readonly pretty?: string; readonly userAgent?: string } = {}) {
  return { accept, userAgent: rest.userAgent, pretty: rest.pretty };
}

function rejection(run: () => unknown): StatusError {
  try {
    run();
  } catch (error) {
    return error as StatusError;
  }
  throw new Error('accepted');
}

describe('negotiate', () => {
  it.each([
    [undefined, 'json', undefined],
    ['', 'json', undefined],
    ['*/*', 'json', undefined],
    ['application/yaml', 'yaml', undefined],
    ['text/html,*/*;q=0.1', 'json', undefined],
    ['application/json;q=0.4,application/yaml;q=0.5', 'yaml', undefined],
    ['application/json;as=Table;v=v1;g=meta.k8s.io', 'json', 'Table'],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', 'json', 'Table'],
    ['application/json;as=Table;v=v9;g=meta.k8s.io,application/json', 'json', undefined],
    ['application/yaml;as=PartialObjectMetadata;v=v1;g=meta.k8s.io', 'yaml', 'PartialObjectMetadata'],
    ['application/vnd.kubernetes.protobuf,application/json', 'json', undefined],
    ['application/json;stream=watch', 'json', undefined],
    ['application/json;sv=v1', 'json', undefined],
    ['application/json;q=0', 'json', undefined],
  ])('returns the media type for Accept %j: %s', (accept, mediaType, as) => {
    expect(negotiate(preferencesFor(accept), builtIn)).toMatchObject({ mediaType, contentType: `application/${mediaType}` });
    expect(negotiate(preferencesFor(accept), custom).as?.kind).toBe(as);
  });

  it.each(['application/*', '*', 'text/plain', 'APPLICATION/JSON', ',', ';;;', '*/json'])(
    'rejects %j with the error of the built-in API router',
    (accept) => {
      const error = rejection(() => negotiate(preferencesFor(accept), builtIn));
      expect(error.message).toBe(
        '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf',
      );
      expect(error.status.details).toEqual({});
    },
  );

  it.each(['application/*', '*'])('accepts %j for custom resources', (accept) => {
    expect(negotiate(preferencesFor(accept), custom).mediaType).toBe('json');
  });

  it.each([
    'text/plain',
    'application/json;as=Foo;v=v1;g=meta.k8s.io',
    'application/json;v=v1',
    'application/json;sv=v2',
    'application/json;stream=foo',
  ])('rejects %j for custom resources', (accept) => {
    const { status } = rejection(() => negotiate(preferencesFor(accept), custom));
    expect(status.message).toBe(
      'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    );
    expect(status.details).toBeUndefined();
  });

  it.each(['application/vnd.kubernetes.protobuf', 'text/plain,application/vnd.kubernetes.protobuf'])(
    'lists available media types for a request for %j',
    (accept) => {
      const message = 'only the following media types are accepted: application/json, application/yaml';
      expect(rejection(() => negotiate(preferencesFor(accept), builtIn)).message).toBe(message);
    },
  );

  it('returns the recorded error for an unsupported media type', () => {
    const exchange = recordings('token-requests').find(({ name }) => name === 'accept-text');
    const preferences = preferencesFor(exchange?.request.headers?.['accept']);
    const { status } = rejection(() => negotiate(preferences, builtIn));
    expect(formatBody(encodeOrderedJson(status), negotiateError(preferences))).toBe(exchange?.response.body);
  });

  it.each([
    ['application/vnd.kubernetes.protobuf', 'application/json, application/yaml'],
    [
      'application/vnd.kubernetes.protobuf;as=Status;v=v1;g=meta.k8s.io',
      'application/json, application/yaml, application/vnd.kubernetes.protobuf',
    ],
  ])('lists the media types that could be used instead of %s', (accept, types) => {
    expect(rejection(() => negotiate(preferencesFor(accept), builtIn)).message).toBe(
      `only the following media types are accepted: ${types}`,
    );
  });

  it('lists the media types of a watchable collection', () => {
    expect(rejection(() => negotiate(preferencesFor('text/plain'), { ...builtIn, watchable: true })).message).toMatch(
      /protobuf, application\/json;stream=watch, application\/vnd.kubernetes.protobuf;stream=watch$/,
    );
  });
});

describe('checkStreamable', () => {
  const watchable = { ...custom, watchable: true };

  it('accepts JSON for a watch', () => {
    expect(() => checkStreamable(negotiate(preferencesFor('application/json'), watchable))).not.toThrow();
  });

  it('rejects YAML for a watch', () => {
    expect(rejection(() => checkStreamable(negotiate(preferencesFor('application/yaml'), watchable))).message).toBe(
      'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
    );
  });
});

describe('negotiateError', () => {
  it.each([
    [undefined, 'json', false],
    ['application/yaml', 'yaml', false],
    ['application/json;as=Table;v=v1;g=meta.k8s.io', 'json', true],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'json', false],
    ['application/json;sv=v1', 'json', true],
    ['text/plain', 'json', true],
  ])('returns the media type for Accept %j: %s', (accept, mediaType, pretty) => {
    expect(negotiateError(preferencesFor(accept))).toMatchObject({ mediaType, pretty });
  });
});

describe('isPretty', () => {
  const posts = recordings('token-requests').filter(({ name }) => name.startsWith('pretty-'));

  it.each(posts.map((exchange) => [exchange.name, exchange] as const))(
    'decides whether to indent the response as recorded: %s',
    (_, exchange) => {
      const userAgent = exchange.request.headers?.['user-agent'];
      const pretty = queryOf(exchange).get('pretty') ?? undefined;
      expect(isPretty({ accept: undefined, userAgent, pretty })).toBe(exchange.response.body?.startsWith('{\n'));
    },
  );

  it('is true for pretty=1 in Accept, and false for pretty=0', () => {
    expect(negotiate(preferencesFor('application/json; pretty=1'), builtIn).pretty).toBe(true);
    expect(negotiate(preferencesFor('application/json;pretty=0'), builtIn).pretty).toBe(false);
  });
});

describe('parseBodyMediaType', () => {
  it.each([
    [undefined, 'json'],
    ['', 'json'],
    ['Application/JSON', 'json'],
    ['application/json;charset=utf-8', 'json'],
    ['application/json;a="x y"', 'json'],
    ['application/json;', 'json'],
    ['application/yaml', 'yaml'],
  ])('parses %j as %s', (contentType, mediaType) => {
    expect(parseBodyMediaType(contentType)).toBe(mediaType);
  });

  it.each(['text/plain', ';;;', 'application/json; charset', 'application/'])('rejects %j', (contentType) => {
    const { status } = rejection(() => parseBodyMediaType(contentType));
    expect(status).toMatchObject({
      code: 415,
      message:
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
    });
  });
});

describe('parsePatchType', () => {
  it.each(['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'])(
    'accepts %s for every kind',
    (type) => {
      expect(parsePatchType(type, true)).toBe(type);
      expect(parsePatchType(`${type}; charset=utf-8`, false)).toBe(type);
    },
  );

  it('accepts strategic merge for built-in kinds only', () => {
    expect(parsePatchType('application/strategic-merge-patch+json', true)).toBe('application/strategic-merge-patch+json');
    expect(rejection(() => parsePatchType('application/strategic-merge-patch+json', false)).message).toBe(
      'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
    );
  });

  it.each([undefined, '', 'application/json', 'APPLICATION/merge-patch+json'])(
    'rejects %j with the error of the built-in API router',
    (type) => {
      const { status } = rejection(() => parsePatchType(type, true));
      expect(status).toMatchObject({ code: 415, message: '415: Unsupported Media Type', details: {} });
    },
  );
});
