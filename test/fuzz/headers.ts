// Values of request headers that both endpoints have in common.

import { pick } from '../support/random.ts';

type Random = () => number;

const TYPES = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  '*/*',
  'application/*',
  'text/plain',
  'text/html',
];
const ODD_TYPES = [
  'application/cbor',
  'APPLICATION/JSON',
  'application/json;stream=watch',
  'json',
  'text/*',
  '*',
  'application/',
  '/',
  '*/json',
  ';',
  ',',
];
const FORMS = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList', 'Status', 'table', ''];
const PARAMETERS = [
  ';q=0.5',
  ';q=0',
  ';q=1',
  ';q=x',
  ';q=2',
  ';charset=utf-8',
  ';pretty=1',
  ';pretty=0',
  ';sv=v1',
  ';sv=v2',
  ';stream=watch',
  '; a=b',
  ';',
  ';v=v1',
];

/** Returns the value of an Accept header: one to three types with parameters. */
export function randomAccept(random: Random): string {
  const count = pick(random, [1, 1, 1, 2, 2, 3]);
  return Array.from({ length: count }, () => acceptClause(random)).join(pick(random, [',', ', ', ' , ']));
}

function acceptClause(random: Random): string {
  const type = pick(random, random() < 0.85 ? TYPES : ODD_TYPES);
  const form = random() < 0.4 ? `;as=${pick(random, FORMS)};v=${pick(random, ['v1', 'v1', 'v1beta1', 'v2', ''])};g=meta.k8s.io` : '';
  return `${type}${form}${random() < 0.3 ? pick(random, PARAMETERS) : ''}`;
}

export const USER_AGENTS = ['curl/8.5.0', 'Mozilla/5.0 (X11)', 'Wget/1.2', 'kubectl/v1.36.0', '', 'curl', '/x', 'é/1'];
export const PRETTY = ['true', '1', 'false', '0', '', 'yes', 'TRUE', 'T', 'x'];
export const TIMEOUTS = [
  '10s',
  '1m',
  '1h',
  '',
  '0',
  '0s',
  '-1s',
  '5',
  'abc',
  '1.5s',
  '10s5',
  '1d',
  ' 5s',
  '10m10s',
  '+5s',
  '9999999h',
  '30000000us',
];
