// Grammar of lists, watches and gets of Clusters and ManagedTokens.

import { pick } from '../support/random.ts';
import { PRETTY, randomAccept, TIMEOUTS, USER_AGENTS } from './headers.ts';
import { COMPARED_LISTS } from './lists.ts';
import type { FuzzRequest } from './request.ts';

type Random = () => number;

/** Returns the request that the random numbers determine. */
export function randomListRequest(random: Random): FuzzRequest {
  const kind = pick(random, ['list', 'list', 'list', 'page', 'page', 'watch', 'watch', 'get'] as const);
  const headers = randomHeaders(random);
  const method = random() < 0.05 ? 'HEAD' : 'GET';
  const common = { endpoint: 'list', method, headers } as const;
  const compared = pick(random, COMPARED_LISTS);
  if (kind === 'get')
    return { ...common, path: `${pick(random, compared.parents)}/${pick(random, NAMES)}`, query: queryOf(random, GET, 2) };
  const list = pick(random, compared.paths);
  const path = random() < 0.04 ? `${list}${pick(random, SUFFIXES)}` : list;
  if (kind === 'list' && random() < 0.05) {
    headers['authorization'] = 'Bearer bobtoken';
    return { ...common, path, query: queryOf(random, UNPRIVILEGED, 2) };
  }
  if (kind === 'list' && random() < 0.08) {
    headers['authorization'] = 'Bearer alicetoken';
    return { ...common, path, query: queryOf(random, PARTLY_PRIVILEGED, 2) };
  }
  if (kind === 'list') return { ...common, path, query: queryOf(random, LIST, 3) };
  // A watch in protobuf with `as=` cannot be repeated in JSON with the same events.
  if (kind === 'watch' && headers['accept'] !== undefined) headers['accept'] = headers['accept'].replace(/(?<=protobuf);as=[^,]*/g, '');
  if (kind === 'watch') return { ...common, path, query: watchQuery(random) };
  return { ...common, path, ...pageQuery(random, list) };
}

/** Returns the headers of the administrator, or of a caller whose credentials are rejected. */
function randomHeaders(random: Random): Record<string, string> {
  const headers: Record<string, string> = { authorization: 'Bearer admintoken' };
  if (random() < 0.35) headers['accept'] = randomAccept(random);
  if (random() < 0.15) headers['user-agent'] = pick(random, USER_AGENTS);
  if (random() < 0.1) headers['accept-encoding'] = pick(random, ['gzip', 'identity', 'br']);
  if (random() < 0.03) headers['authorization'] = pick(random, ['Bearer unknown', 'Basic YTpi', 'Bearer']);
  return headers;
}

type Parameter = (random: Random) => string;

const parameter =
  (name: string, values: readonly string[]): Parameter =>
  (random) =>
    `${name}=${encodeURIComponent(pick(random, values)).replaceAll('%7B', '{').replaceAll('%7D', '}').replaceAll('%3A', ':')}`;

function queryOf(random: Random, parameters: readonly Parameter[], most: number): string {
  const count = Math.floor(random() * (most + 1));
  return Array.from({ length: count }, () => pick(random, parameters)(random)).join('&');
}

const LABEL_SELECTORS = [
  'env=prod',
  'env==prod',
  'env!=prod',
  'env in (prod,dev)',
  'env notin (prod)',
  'env',
  '!env',
  'env=',
  'env in ()',
  'env>1',
  'env<x',
  'number>10',
  'number<5',
  'env=prod,region=r1',
  'env=prod,',
  ',',
  'env==',
  '=',
  '==x',
  'a/b/c=d',
  '-k=v',
  'env in (prod',
  'env in prod',
  'env=a b',
  'ENV=prod',
  'env = prod',
  ' env ',
  'env=prod,env=dev',
  'x y',
  '!',
  '!!env',
  'env=!',
  'é=1',
  'env=é',
  'env in (a,,b)',
  'env in (,)',
  'in in (in)',
  'notin',
  'in',
  'env=prod)',
  '(',
  'env exists',
  `${'k'.repeat(64)}=v`,
  `env=${'v'.repeat(64)}`,
  'example.com/x',
  'env!prod',
  'env\n=prod',
  'env=prod;x',
  '',
  ' ',
  'number>x',
  'number>',
  'number>1,number<9',
  'env in (prod, dev ,x)',
  'env notin ()',
  'env<>1',
  'env=>1',
  'env!==x',
  '"env"=prod',
  'env=<',
  'env=1.5',
];
const FIELD_SELECTORS = [
  'metadata.name=c03',
  'metadata.name!=c03',
  'metadata.name==c03',
  'metadata.name=nope',
  'metadata.name=',
  'metadata.name',
  '=x',
  'metadata.namespace=x',
  'metadata.namespace=',
  'metadata.namespace=team-a',
  'metadata.namespace!=team-a',
  'metadata.namespace=team-b,metadata.name=c20',
  'spec.clusterName=prod-eu',
  'spec.clusterName!=prod-eu',
  'spec.clusterName=',
  'spec.clusterName=prod-us,metadata.name!=c03',
  'status.version=1',
  'metadata.name=c03,metadata.name=c04',
  'metadata.name=c03,metadata.name!=c04',
  ',',
  'metadata.name in (c01)',
  'metadata.name=a=b',
  String.raw`metadata.name=a\=b`,
  String.raw`metadata.name=a\b`,
  'metadata.name!=',
  ' metadata.name=c03',
  'metadata.name= c03',
  '',
  'METADATA.NAME=c03',
  'metadata.labels=x',
  'spec=1',
  'metadata.name>c01',
  '!metadata.name',
  'metadata.name===c03',
  'metadata.name=c03,',
  String.raw`metadata.name=a\,b`,
  'metadata.uid=1',
];
const VERSIONS = [
  '',
  '0',
  '{version:0}',
  '{version:1}',
  '{version:3}',
  '{version:6}',
  '{version:last}',
  '{version:old}',
  '{version:future}',
  '1',
  'abc',
  '-1',
  '00',
  '+1',
  '1.5',
  ' 1',
  '0x1',
];
const MATCHES = ['Exact', 'NotOlderThan', '', 'exact', 'Bogus', 'Latest'];
const FLAGS = ['true', 'true', 'false', '1', '0', '', 'x', 'False', 'TRUE'];
const LIMITS = [
  '1',
  '2',
  '5',
  '24',
  '25',
  '26',
  '500',
  '0',
  '-1',
  '',
  'abc',
  '1.5',
  '9223372036854775807',
  '9223372036854775808',
  '+3',
  '1_0',
  ' 1',
  '0x1',
];
const TIMEOUT_SECONDS = ['5', '5', '5', '0', '-1', '', 'abc', '3600', '1.5', '99999999999999999999', '-0', '+5'];

const label = parameter('labelSelector', LABEL_SELECTORS);
const field = parameter('fieldSelector', FIELD_SELECTORS);
const version = parameter('resourceVersion', VERSIONS);
const match = parameter('resourceVersionMatch', MATCHES);
const limit = parameter('limit', LIMITS);
const initial = parameter('sendInitialEvents', FLAGS);
const bookmarks = parameter('allowWatchBookmarks', FLAGS);
const pretty = parameter('pretty', PRETTY);
const includeObject = parameter('includeObject', ['Object', 'Metadata', 'None', '', 'none', 'x']);

const GET: readonly Parameter[] = [
  version,
  version,
  pretty,
  includeObject,
  parameter('timeout', TIMEOUTS),
  match,
  label,
  limit,
  parameter('export', FLAGS),
  () => 'exact=true',
  () => '%zz',
];
const LIST: readonly Parameter[] = [
  label,
  label,
  label,
  field,
  field,
  version,
  version,
  match,
  limit,
  limit,
  initial,
  bookmarks,
  pretty,
  includeObject,
  parameter('timeout', TIMEOUTS),
  parameter('timeoutSeconds', TIMEOUT_SECONDS),
  parameter('watch', ['false', '0', 'False']),
  parameter('shardSelector', ['x', '']),
  () => 'unknown=1',
  () => '%zz=1',
  () => 'limit=1&limit=2',
  () => 'a;b',
  () => 'labelSelector',
  parameter('dryRun', ['All', 'x']),
  parameter('continue', [
    '',
    'abc',
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ',
    'e30',
    'bnVsbA',
    'W10',
    'IA',
    '%',
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0',
    '=',
    'a=b',
  ]),
];
/** Parameters of a caller who sees no object; the versions of such a caller are not those of the hub. */
const UNPRIVILEGED: readonly Parameter[] = [label, field, limit, pretty, includeObject, initial];
/** Parameters of a caller who sees one namespace; kube-apiserver's pages for such a caller contain only that namespace. */
const PARTLY_PRIVILEGED: readonly Parameter[] = [label, field, pretty, includeObject, initial];
const WATCH: readonly Parameter[] = [
  label,
  label,
  field,
  field,
  version,
  version,
  version,
  match,
  initial,
  initial,
  bookmarks,
  limit,
  pretty,
  includeObject,
  parameter('continue', ['', 'abc']),
];

/** Returns the query of a watch. Most watches end after five seconds; the client ends the others. */
function watchQuery(random: Random): string {
  const watch = `watch=${pick(random, ['true', 'true', 'true', '1', '', 'x', 'TRUE'])}`;
  const timeout = random() < 0.7 ? 'timeoutSeconds=5' : parameter('timeoutSeconds', TIMEOUT_SECONDS)(random);
  const streaming = random() < 0.25 ? '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan' : '';
  const rest = queryOf(random, WATCH, 3);
  return `${watch}&${timeout}${streaming}${rest === '' ? '' : `&${rest}`}`;
}

/** Returns the query of a further page, with a continue token that may be garbled. */
function pageQuery(random: Random, list: string): Pick<FuzzRequest, 'query' | 'firstPage'> {
  const selector = random() < 0.3 ? `&${label(random)}` : '';
  const valid = pick(random, ['', '', '&labelSelector=env%3Dprod', '&labelSelector=region%20in%20(r0,r1)']);
  const token = pick(random, TOKENS);
  const rest = queryOf(
    random,
    [
      version,
      match,
      limit,
      label,
      pretty,
      includeObject,
      field,
      parameter('timeoutSeconds', ['5', '-1']),
      () => 'watch=true&timeoutSeconds=5',
    ],
    2,
  );
  const first = `${list}?limit=${pick(random, ['1', '3', '10', '24'])}${valid}`;
  return {
    firstPage: first,
    query: `limit=${pick(random, ['1', '3', '10', '100', '0', '-1'])}&continue=${token}${valid}${selector}${rest === '' ? '' : `&${rest}`}`,
  };
}

const TOKENS = [
  '{continue}',
  '{continue}',
  '{continue}',
  '{continue}',
  '{continue:expired}',
  '{continue:future}',
  '{continue:negative}',
  '{continue:zero}',
  '{continue:text}',
  '{continue:cut}',
  '{continue:longer}',
  '{continue:padded}',
  '{continue:other}',
  '{continue:dots}',
  '{continue:empty}',
  '{continue:end}',
  '{continue:v2}',
  '{continue:before}',
];

const LONG = 'x'.repeat(254);
const NAMES = [
  'c01',
  'c02',
  'c03',
  'c10',
  'c25',
  'nope',
  'C01',
  'c01%20',
  '..',
  '%2e%2e',
  'c01/',
  'c01/status',
  '-x',
  'a_b',
  LONG,
  '%C3%A9',
  'c%30%31',
  'a%2Fb',
  '%00',
  'c01;x',
  'c01.',
  'a..b',
];
const SUFFIXES = ['/', '//', '%2F', '/.', ';x', '%20', '.', '/..'];
