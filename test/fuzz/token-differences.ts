// Documented differences of the token endpoint, in the order in which the façade checks requests.

import { parse as parseYaml } from 'yaml';
import { invalidValue, requiredValue } from '../../src/kubernetes/field-error.ts';
import { badRequest, invalid, type Status, StatusError, statusError } from '../../src/kubernetes/status.ts';
import { TOKEN_REQUEST_KIND, TOKEN_REQUEST_NAME, type TokenRequest } from '../../src/kubernetes/token-request.ts';
import { parseBodyMediaType } from '../../src/kubernetes/wire/content-type.ts';
import { decodeObject } from '../../src/kubernetes/wire/decode.ts';
import { readDocument } from '../../src/kubernetes/wire/document.ts';
import { CLUSTER, withoutManagedFields } from '../contract/token-world.ts';
import { isJson } from '../support/golden-relaxations.ts';
import { type Difference, type Exchange, messageOf, rejection } from './expectation.ts';
import { namesIn } from './http-differences.ts';
import { type FuzzRequest, headerOf, queryOf } from './request.ts';
import type { Comparable } from './response.ts';

type Spec = Partial<TokenRequest['spec']>;

/** Returns the API version of a body in JSON or YAML; that of a TokenRequest for a body without one, and in protobuf. */
function apiVersionOf({ body = Buffer.alloc(0), headers }: FuzzRequest): string {
  const mediaType = parseBodyMediaType([headers['content-type'] ?? ''].flat()[0]);
  const { group, version } = mediaType === 'protobuf' ? { group: '', version: '' } : readDocument(body, mediaType).type;
  if (version === '') return 'authentication.k8s.io/v1';
  return group === '' ? version : `${group}/${version}`;
}

/** Returns the spec of a body that kube-apiserver has decoded. */
function specOf({ body = Buffer.alloc(0), headers }: FuzzRequest): Spec {
  try {
    const mediaType = parseBodyMediaType([headers['content-type'] ?? ''].flat()[0]);
    const decoding = {
      body,
      mediaType,
      kind: TOKEN_REQUEST_KIND,
      isTypeOptional: true,
      fieldValidation: 'Ignore',
      isRegistered: () => true,
    } as const;
    const { object } = decodeObject(decoding);
    return object['spec'] ?? {};
  } catch {
    return {};
  }
}

const ROUTING = [401, 403, 405];
const FORMAT = [...ROUTING, 406, 415];

/** Returns true if kube-apiserver decoded the request: it issued a token, or rejected the decoded request. */
function isDecoded({ status, body }: Comparable): boolean {
  if (status === 400) return /cannot bind token|Name parameter/.test(body);
  if (status === 406) return /you requested\s+PartialObjectMetadataList/.test(body);
  return ![...FORMAT, 413].includes(status) && !(status === 422 && body.includes('CreateOptions'));
}

const UNKNOWN_FORMAT =
  'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf';

function edit(kube: Comparable, changes: { readonly body?: string; readonly headers?: Readonly<Record<string, string>> }): Comparable {
  return { ...kube, ...changes, headers: { ...kube.headers, ...changes.headers } };
}

export const TOKEN_DIFFERENCES: readonly Difference[] = [
  {
    row: 'no permission',
    expect: ({ request, kube }) => {
      if (kube.status !== 403 || !/cannot create\s+resource/.test(kube.body)) return undefined;
      const [namespace = '', name = ''] = namesIn(request) ?? [];
      const status = parseYaml(kube.body) as Status;
      const message = `${status.message}: issue clusters/token "${CLUSTER}/${namespace}/${name}" in registry.purser.dev`;
      return rejection(request, new StatusError({ ...status, message }));
    },
  },
  {
    row: '`Content-Encoding` other than `identity`, or `charset` other than UTF-8 and US-ASCII',
    isFinal: true,
    expect: ({ request, kube }) => {
      const isEncoded = !['', 'identity'].includes(headerOf(request, 'content-encoding'));
      const isLatin = headerOf(request, 'content-type').includes('latin1');
      return (isEncoded || isLatin) && !FORMAT.includes(kube.status)
        ? rejection(request, statusError('UnsupportedMediaType', UNKNOWN_FORMAT))
        : undefined;
    },
  },
  {
    row: 'size of the body',
    isFinal: true,
    expect: ({ request, kube }) =>
      (request.body?.length ?? 0) > 8 * 1024 && !FORMAT.includes(kube.status)
        ? rejection(request, statusError('RequestEntityTooLarge', 'Request entity too large: limit is 8192'))
        : undefined,
  },
  {
    row: '`fieldManager` of exactly 128 characters',
    expect: ({ request, kube, resend }) =>
      fieldManagerOf(request) === 'x'.repeat(128) && !FORMAT.includes(kube.status) ? resend(withLongManager(request)) : undefined,
  },
  {
    row: '`fieldManager` that is too long and not printable',
    expect: ({ request, kube, resend }) =>
      kube.status === 422 && Buffer.byteLength(fieldManagerOf(request)) > 128 ? resend(withLongManager(request)) : undefined,
  },
  {
    row: 'YAML with text after its first value',
    isFinal: true,
    expect: (exchange) => {
      const isObject = isDecoded(exchange.kube) && hasInYaml(exchange, /./s) && hasBytesAfterJson(bodyText(exchange));
      return isObject || hasInYaml(exchange, TEXT_AFTER_SCALAR) ? rejectYaml(exchange) : undefined;
    },
  },
  {
    row: 'U+0085, U+2028 or U+2029 in YAML, or CR without LF in YAML that is not JSON',
    isFinal: true,
    expect: (exchange) => {
      const isBroken = hasInYaml(exchange, /[\u0085\u2028\u2029]/) || (!isJson(bodyText(exchange)) && hasInYaml(exchange, /\r(?!\n)/));
      return isBroken ? rejectYaml(exchange) : undefined;
    },
  },
  {
    row: 'a quoted YAML string that continues on a line that is not indented more than its key',
    isFinal: true,
    expect: (exchange) =>
      hasInYaml(exchange, /^[^{]/) && isContinuedWithoutIndentation(bodyText(exchange)) ? rejectYaml(exchange) : undefined,
  },
  {
    row: '`?` directly before a key in YAML `{}` or `[]`, such as `{?a: 1}`',
    isFinal: true,
    expect: (exchange) => (hasInYaml(exchange, /[{[,]\s*\?\S/) ? rejectYaml(exchange) : undefined),
  },
  {
    row: 'a body of another registered kind, with fields that are invalid for that kind',
    isFinal: true,
    expect: ({ request, kube }) => {
      const [, kind = ''] = /^(\w+) in version "v1" cannot be handled as a TokenRequest: (?:proto|json): /.exec(messageOf(kube)) ?? [];
      if (kind === '' || kind === 'TokenRequest' || kind === 'Status') return undefined;
      return rejection(
        request,
        cannotBeHandled(kind, 'v1', `converting (v1.${kind}) to (authentication.TokenRequest): unknown conversion`),
      );
    },
  },
  {
    row: 'a body of a kind that every API group has, such as `DeleteOptions` or `Status`, or of version `__internal`',
    isFinal: true,
    expect: ({ request, kube }) => {
      const message = messageOf(kube);
      const isInternal = message.startsWith('the API version in the data (authentication.k8s.io/__internal) does not match');
      const isEverywhere = /^Status in version "v1" cannot be handled as a TokenRequest: (?:converting|proto:|json:) /.test(message);
      if (!isInternal && !isEverywhere) return undefined;
      const [kind, version] = isInternal ? ['TokenRequest', '__internal'] : ['Status', 'v1'];
      const problem = `no kind "${kind}" is registered for version "${isInternal ? `authentication.k8s.io/${version}` : apiVersionOf(request)}" in scheme "x"`;
      return rejection(request, cannotBeHandled(kind, version, problem));
    },
  },
  {
    row: 'no audiences',
    isFinal: true,
    expect: ({ request, kube }) =>
      isDecoded(kube) && hasDefaultAudience(kube) && (specOf(request).audiences ?? []).length === 0
        ? rejection(request, invalid(TOKEN_REQUEST_NAME, '', [requiredValue('spec.audiences')]), warningsOf(kube))
        : undefined,
  },
  {
    row: 'bound to a Node',
    isFinal: true,
    expect: (exchange) => (boundKind(exchange) === 'Node' ? rejectKind(exchange) : undefined),
  },
  {
    row: 'bound to an unsupported kind, and another mistake or a missing service account',
    isFinal: true,
    expect: (exchange) => {
      const kind = boundKind(exchange);
      const isUnsupported = kind !== undefined && !['Pod', 'Secret'].includes(kind);
      return isUnsupported && [404, 409, 422].includes(exchange.kube.status) ? rejectKind(exchange) : undefined;
    },
  },
  {
    row: '3607 seconds for a token bound to a Pod',
    isFinal: true,
    expect: (exchange) => {
      const isExtended = boundKind(exchange) === 'Pod' && Number(specOf(exchange.request).expirationSeconds) === 3607;
      return isExtended
        ? rejection(
            exchange.request,
            invalid(TOKEN_REQUEST_NAME, '', [invalidValue('spec.expirationSeconds', 3607n, EXTENDED)]),
            warningsOf(exchange.kube),
          )
        : undefined;
    },
  },
  {
    row: '`Accept` with `as=PartialObjectMetadataList`',
    isFinal: true,
    expect: async ({ request, kube, resend }) => {
      const isUnsupported = kube.body.includes('cannot bind token to object of type');
      if (!isDecoded(kube) || isUnsupported || !headerOf(request, 'accept').includes('PartialObjectMetadataList')) return undefined;
      const headers = { ...request.headers, 'content-type': 'application/json' };
      const { status, body } = await resend({ ...request, ...VALID, headers });
      return status === 406 && /you\s+requested/.test(body) ? { ...kube, status, body } : undefined;
    },
  },
  {
    row: '`metadata.managedFields` of the response',
    expect: ({ kube }) => (kube.status === 201 ? edit(kube, { body: withoutManagedFields(kube.body) }) : undefined),
  },
  {
    row: 'text in protobuf that is not UTF-8',
    expect: ({ request, kube }) =>
      kube.status === 201 && headerOf(request, 'content-type').includes('protobuf') && kube.body.includes('\\ufffd')
        ? edit(kube, { body: kube.body.replaceAll('\\ufffd', '\ufffd') })
        : undefined,
  },
  {
    row: '`Cache-Control` of a response with a token',
    expect: ({ kube }) => (kube.status === 201 ? edit(kube, { headers: { 'cache-control': 'no-cache, no-store, private' } }) : undefined),
  },
  {
    row: '`dryRun=All` in a namespace that does not exist',
    expect: ({ request, kube, resend }) => {
      const isMissing = messageOf(kube) === 'namespaces "missing" not found' && queryOf(request).get('dryRun') === 'All';
      return isMissing ? resend({ ...request, path: request.path.replace('/missing/', '/default/') }) : undefined;
    },
  },
  {
    row: '`dryRun=All`',
    expect: ({ request, kube }) =>
      kube.status === 201 && queryOf(request).get('dryRun') === 'All' ? edit(kube, { body: withoutToken(kube.body) }) : undefined,
  },
];

function cannotBeHandled(kind: string, version: string, problem: string): StatusError {
  return badRequest(`${kind} in version "${version}" cannot be handled as a TokenRequest: ${problem}`);
}

/** Returns true if YAML matches a pattern, and kube-apiserver decoded it or rejected it as invalid. */
function hasInYaml(exchange: Exchange, pattern: RegExp): boolean {
  const { request, kube } = exchange;
  const isYaml = headerOf(request, 'content-type').includes('yaml');
  return isYaml && pattern.test(bodyText(exchange)) && (isDecoded(kube) || kube.status === 400);
}

function bodyText({ request }: Exchange): string {
  return request.body?.toString() ?? '';
}

function rejectYaml(exchange: Exchange): Comparable {
  return rejection(exchange.request, badRequest(unrecognized(exchange.request.body ?? Buffer.alloc(0))));
}

/** Returns true if a line within double quotes is not indented more than the line with the opening quote. */
function isContinuedWithoutIndentation(text: string): boolean {
  let openIndent: number | undefined;
  for (const line of text.split('\n')) {
    const indent = line.search(/[^ ]|$/);
    if (openIndent !== undefined && indent <= openIndent && line.trim() !== '') return true;
    if (opensQuote(line, openIndent !== undefined)) openIndent ??= indent;
    else openIndent = undefined;
  }
  return false;
}

/** Returns true if a quoted text is open at the end of a line. A quote within or after a plain text does not begin a quoted one. */
function opensQuote(line: string, isOpen: boolean): boolean {
  const next = isOpen ? /(?<!\\)"/g : /(?<=^|[\s,:{[])"/g;
  const [quote] = line.matchAll(next);
  return quote === undefined ? isOpen : opensQuote(line.slice(quote.index + 1), !isOpen);
}

const TEXT_AFTER_SCALAR = /^\s*"(?:[^"\\]|\\.)*"\s*[^\s:#]/s;

/** Returns true if a body has more bytes after a JSON object. */
function hasBytesAfterJson(text: string): boolean {
  const ends = [...text.matchAll(/\}/g)].map(({ index }) => index + 1);
  return text.trimStart().startsWith('{') && ends.some((end) => !/^\s*(---|$)/.test(text.slice(end)) && isJson(text.slice(0, end)));
}

/** Returns the message for a YAML body that cannot be parsed. It ends with the first bytes, in hexadecimal unless they are JSON. */
function unrecognized(bytes: Buffer): string {
  const encoding = bytes.toString().startsWith('{') ? 'utf8' : 'hex';
  const start = bytes.length > 30 ? `${bytes.subarray(0, 30).toString(encoding)} ...` : bytes.toString(encoding);
  return `the object provided is unrecognized (must be of type TokenRequest): yaml: invalid (${start})`;
}

const EXTENDED = 'for a token that is bound to a Pod, Kubernetes can extend this lifetime to a year; request another number of seconds';
/** Parts of a request that kube-apiserver accepts. */
const VALID = {
  path: '/api/v1/namespaces/team-a/serviceaccounts/builder/token',
  query: '',
  body: Buffer.from('{"spec":{"audiences":["vault"]}}'),
};

/** Returns true unless the response has different audiences than the default of kube-apiserver. */
function hasDefaultAudience({ status, body }: Comparable): boolean {
  return status !== 201 || /audiences"?:\s*(\[\s*"|- )https:\/\/hub\.test\b/.test(body) || !body.includes('audiences');
}

function fieldManagerOf(request: FuzzRequest): string {
  return queryOf(request).get('fieldManager') ?? '';
}

/** Returns the request with a field manager of 129 printable characters. */
function withLongManager(request: FuzzRequest): FuzzRequest {
  return { ...request, query: request.query.replace(/(?<=(?:^|&)fieldManager=)[^&]*/, 'x'.repeat(129)) };
}

function warningsOf({ headers }: Comparable): Readonly<Record<string, string>> {
  return { warning: headers['warning'] ?? '' };
}

/** Returns the kind of the bound object of a decoded request. */
function boundKind({ request, kube }: Exchange): string | undefined {
  const reference = isDecoded(kube) ? specOf(request).boundObjectRef : undefined;
  return reference ? (reference.kind ?? '') : undefined;
}

function rejectKind({ request, kube }: Exchange): Comparable {
  const { kind = '', apiVersion = '' } = specOf(request).boundObjectRef ?? {};
  const parts = apiVersion.split('/');
  const [group, version] = parts.length === 1 ? ['', apiVersion] : parts.length === 2 ? parts : ['', ''];
  return rejection(request, badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`), warningsOf(kube));
}

/** Returns the response to a dry run, in JSON or YAML. */
function withoutToken(body: string): string {
  return body
    .replace('"<token>"', '""')
    .replace(/(?<=\n {2}token: )<token>/, '""')
    .replace(/(?<="expirationTimestamp": ?)"[^"]*"/, 'null')
    .replace(/(?<=\n {2}expirationTimestamp: )"[^"]*"/, 'null');
}
