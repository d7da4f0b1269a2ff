// Grammar of token requests: a valid request with up to four oddities.

import { pick } from '../support/random.ts';
import { type BodyFormat, garbleText, randomBody, randomText } from './body.ts';
import { PRETTY, randomAccept, TIMEOUTS, USER_AGENTS } from './headers.ts';
import { randomProtobuf } from './protobuf-body.ts';
import type { FuzzRequest } from './request.ts';

type Random = () => number;

interface Draft {
  method: string;
  namespace: string;
  name: string;
  /** Text after the name. */
  suffix: string;
  readonly query: string[];
  readonly headers: Record<string, string | readonly string[]>;
  format: BodyFormat;
  /** Number of mutations of the body. */
  mutations: number;
  body: string | Buffer | undefined;
}

/** Returns the request that the random numbers determine. */
export function randomTokenRequest(random: Random): FuzzRequest {
  const draft: Draft = {
    method: 'POST',
    namespace: 'team-a',
    name: 'builder',
    suffix: '/token',
    query: [],
    headers: { authorization: 'Bearer alicetoken', 'content-type': 'application/json' },
    format: 'json',
    mutations: 0,
    body: undefined,
  };
  const count = pick(random, [0, 1, 1, 2, 2, 2, 3, 3, 3, 4]);
  for (let index = 0; index < count; index += 1) pick(random, ODDITIES)(draft, random);
  const body = draft.body ?? randomBody(random, draft.format, draft.mutations);
  return {
    endpoint: 'token',
    method: draft.method,
    path: `/api/v1/namespaces/${draft.namespace}/serviceaccounts/${draft.name}${draft.suffix}`,
    query: draft.query.join('&'),
    headers: draft.headers,
    body: typeof body === 'string' ? Buffer.from(body) : body,
  };
}

type Oddity = (draft: Draft, random: Random) => void;

const mutatedBody: Oddity = (draft, random) => {
  draft.mutations += pick(random, [1, 1, 2, 3]);
};
const yamlBody: Oddity = (draft) => {
  draft.format = 'yaml';
  draft.headers['content-type'] = 'application/yaml';
};
const oddText: Oddity = (draft, random) => {
  draft.body = randomText(random, draft.format);
};
const garbledBody: Oddity = (draft, random) => {
  if (Buffer.isBuffer(draft.body)) return;
  draft.body = garbleText(random, draft.body ?? randomBody(random, draft.format, draft.mutations));
};
const protobufBody: Oddity = (draft, random) => {
  draft.body = randomProtobuf(random);
  draft.headers['content-type'] = 'application/vnd.kubernetes.protobuf';
};
const oddQuery: Oddity = (draft, random) => {
  const count = pick(random, [1, 1, 2, 3]);
  for (let index = 0; index < count; index += 1) draft.query.push(pick(random, QUERY)(random));
};
const oddContentType: Oddity = (draft, random) => {
  const type = pick(random, CONTENT_TYPES);
  if (type === undefined) delete draft.headers['content-type'];
  else draft.headers['content-type'] = type;
};
const oddAccept: Oddity = (draft, random) => {
  draft.headers['accept'] = randomAccept(random);
};
const oddHeader: Oddity = (draft, random) => {
  const [name, values] = pick(random, HEADERS);
  draft.headers[name] = pick(random, values);
};
const oddMethod: Oddity = (draft, random) => {
  draft.method = pick(random, ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']);
};
const oddName: Oddity = (draft, random) => {
  draft.name = pick(random, NAMES);
};
const oddNamespace: Oddity = (draft, random) => {
  draft.namespace = pick(random, NAMESPACES);
  draft.headers['authorization'] = 'Bearer admintoken';
};
const oddPath: Oddity = (draft, random) => {
  draft.suffix = pick(random, SUFFIXES);
};
const otherCaller: Oddity = (draft, random) => {
  const header = pick(random, CREDENTIALS);
  if (header === undefined) delete draft.headers['authorization'];
  else draft.headers['authorization'] = header;
};

const ODDITIES: readonly Oddity[] = [
  ...Array<Oddity>(8).fill(mutatedBody),
  ...Array<Oddity>(5).fill(yamlBody),
  ...Array<Oddity>(2).fill(oddText),
  ...Array<Oddity>(3).fill(garbledBody),
  ...Array<Oddity>(2).fill(protobufBody),
  ...Array<Oddity>(6).fill(oddQuery),
  ...Array<Oddity>(3).fill(oddContentType),
  ...Array<Oddity>(4).fill(oddAccept),
  ...Array<Oddity>(2).fill(oddHeader),
  oddMethod,
  oddName,
  oddNamespace,
  oddPath,
  otherCaller,
];

const parameter = (name: string, values: readonly string[]) => (random: Random) => `${name}=${pick(random, values).replaceAll(' ', '%20')}`;

const QUERY: readonly ((random: Random) => string)[] = [
  parameter('dryRun', ['All', 'All', 'all', '', 'None', 'All,All', 'true', '%00', 'All%20']),
  parameter('fieldValidation', ['Ignore', 'Ignore', 'Warn', 'Strict', 'Strict', '', 'strict', 'None', 'Warn%20']),
  parameter('fieldManager', [
    'tool',
    '',
    'a%0Ab',
    '%C3%A9',
    '%F0%9F%98%80',
    'x'.repeat(127),
    'x'.repeat(128),
    'x'.repeat(129),
    '%FF',
    'a%20b',
    '%E2%80%8B',
  ]),
  parameter('fieldManager', ['%C3%A9'.repeat(64), '%C3%A9'.repeat(65), `${'x'.repeat(128)}%0A`, '%7F', '%C2%A0']),
  parameter('pretty', PRETTY),
  parameter('timeout', TIMEOUTS),
  parameter('unknown', ['1', '']),
  parameter('gracePeriodSeconds', ['x']),
  parameter('watch', ['true', '0']),
  parameter('resourceVersion', ['abc']),
  () => 'dryRun',
  () => 'dryRun=All&dryRun=All',
  () => 'dryRun=All&dryRun=x',
  () => 'fieldValidation=Strict&fieldValidation=Ignore',
  () => '%zz=1',
  () => 'a;b=1',
  () => '&&',
  () => '=',
  () => 'DryRun=x',
  () => 'pretty',
  () => 'dryRun=Al%6C',
];

const CONTENT_TYPES: readonly (string | undefined)[] = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'text/plain',
  '',
  '*/*',
  'application/*',
  'application/cbor',
  'application/json; charset=utf-8',
  'application/json;charset=UTF8',
  'application/json; charset=latin1',
  'application/json;charset=us-ascii',
  'application/json;',
  'application/json; charset',
  'application/json;a=b;a=c',
  'APPLICATION/JSON',
  ' application/json ',
  'application/json, text/plain',
  'application/merge-patch+json',
  'application/x-www-form-urlencoded',
  'application/json;stream=watch',
  'json',
  'application/yaml;charset=utf-8',
  'application/json; charset="utf-8"',
  'application/json/x',
  'application /json',
  ';',
  'application/x-yaml',
  'text/yaml',
  'application/json;v=v1',
  undefined,
];

const HEADERS: readonly (readonly [string, readonly (string | readonly string[])[]])[] = [
  ['accept-encoding', ['gzip', 'identity', 'br', '*;q=0', 'gzip;q=0', '']],
  ['content-encoding', ['identity', '', 'gzip', 'br']],
  ['user-agent', USER_AGENTS],
  ['x-forwarded-for', ['10.0.0.1']],
  ['impersonate-user', ['bob']],
  ['x-remote-user', ['admin']],
  ['x-http-method-override', ['DELETE']],
  ['if-match', ['*']],
  [
    'accept',
    [
      ['application/yaml', 'application/json'],
      ['text/plain', 'application/json'],
    ],
  ],
  [
    'content-type',
    [
      ['application/yaml', 'application/json'],
      ['application/json', 'text/plain'],
    ],
  ],
  ['audit-id', ['mine']],
  ['origin', ['https://example.test']],
  ['connection', ['close']],
  ['cookie', ['a=b']],
];

const LONG = 'x'.repeat(254);
const NAMES = [
  'missing',
  'default',
  'Builder',
  'builder.',
  '-x',
  'a..b',
  '%C3%A9',
  'a%20b',
  '%2e%2e',
  '..',
  '.',
  'a%2Fb',
  '%00',
  LONG,
  'x'.repeat(64),
  'builder%',
  'builder%3F',
  'builder;x',
  'b@c',
  '~',
  '%7E',
  '',
];
const NAMESPACES = ['missing', 'default', 'kube-system', 'Team-A', 'a.b', 'x'.repeat(64), '..', '%2e', 'team-a%20', 'a%2Fb', ''];
const SUFFIXES = [
  '/token/',
  '//token',
  '/Token',
  '/tokens',
  '',
  '/status',
  '/token/x',
  '/token%2F',
  '/./token',
  '/../builder/token',
  '/%74oken',
  '/token;v=1',
  '/token.',
];

const CREDENTIALS: readonly (string | readonly string[] | undefined)[] = [
  'Bearer bobtoken',
  'Bearer bobtoken',
  'Bearer admintoken',
  'Bearer unknown',
  'bearer alicetoken',
  'Bearer  alicetoken',
  'Bearer',
  'Bearer ',
  'Bearer alicetoken x',
  'Basic YTpi',
  'alicetoken',
  '',
  'Bearer alice\ttoken',
  'BEARER alicetoken',
  ' Bearer alicetoken',
  'Bearer é',
  undefined,
  ['Bearer alicetoken', 'Bearer bobtoken'],
];
