// The Content-Type of requests.

import { type StatusError, statusError } from '../status.ts';
import { trimSpaces } from './accept.ts';
import type { MediaType } from './negotiate.ts';

const CONSUMED_TYPES = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];
const CUSTOM_PATCHES = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml'] as const;
const BUILT_IN_PATCHES = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
] as const;

export type PatchType = (typeof BUILT_IN_PATCHES)[number];

/** Formats of a request body. Responses are never protobuf. */
export type BodyMediaType = MediaType | 'protobuf';

/** Returns the media type of a request body, or throws a StatusError (415). */
export function parseBodyMediaType(contentType: string | undefined): BodyMediaType {
  const mediaType = contentType === undefined || contentType === '' ? 'application/json' : parseMediaType(contentType);
  if (mediaType === 'application/json') return 'json';
  if (mediaType === 'application/yaml') return 'yaml';
  if (mediaType === 'application/vnd.kubernetes.protobuf') return 'protobuf';
  throw unknownFormat(CONSUMED_TYPES);
}

/** Returns the media type of a request body. Throws a StatusError (415) for an unknown type, and for a compressed or non-UTF-8 body. */
export function parsePlainBodyMediaType(contentType: string | undefined, contentEncoding = ''): BodyMediaType {
  // Shortcut, because nearly all requests have these headers.
  if (contentType === 'application/json' && contentEncoding === '') return 'json';
  const [, charset = ''] = /;\s*charset\s*=\s*"?([^\s;"]*)/i.exec(contentType ?? '') ?? [];
  const isPlain = /^(identity)?$/i.test(contentEncoding) && /^(utf-?8|us-ascii)?$/i.test(charset);
  const mediaType = parseBodyMediaType(contentType);
  if (!isPlain) throw unknownFormat(CONSUMED_TYPES);
  return mediaType;
}

/** Returns the error for a protobuf body of a custom kind, or of a kind with fields that have no protobuf schema. */
export function protobufNotSupported(): StatusError {
  return unknownFormat(['application/json', 'application/yaml']);
}

/** Returns the type of a patch, or throws a StatusError (415). Custom resources do not support strategic merge. */
export function parsePatchType(contentType: string | undefined, builtIn: boolean): PatchType {
  const supported: readonly PatchType[] = builtIn ? BUILT_IN_PATCHES : CUSTOM_PATCHES;
  // The router of built-in APIs rejects other types first, with another message.
  if (builtIn && !parseRoutedTypes(contentType).some((type) => supported.some((each) => each === type))) {
    throw statusError('UnsupportedMediaType', '415: Unsupported Media Type', {});
  }
  const type = supported.find((each) => each === contentType?.replace(/(?<=.);.*$/s, ''));
  if (type === undefined) throw unknownFormat(supported);
  return type;
}

function parseRoutedTypes(contentType = ''): string[] {
  return contentType.split(',').map((type) => trimSpaces(type.replace(/;.*$/s, '')));
}

/** Returns the result of Go's mime.ParseMediaType without parameters; undefined for a type that Go rejects. */
function parseMediaType(text: string): string | undefined {
  const [mediaType = '', ...rest] = text.split(/(?=;)/);
  const name = mediaType.trim().toLowerCase();
  const parameters = rest.join('');
  return MEDIA_TYPE.test(name) && PARAMETERS.test(parameters) && !hasConflict(parameters) ? name : undefined;
}

/** Returns whether a parameter is repeated with a different value. */
function hasConflict(parameters: string): boolean {
  const values = new Map<string, string>();
  for (const [, name = '', value = ''] of parameters.matchAll(PARAMETER)) {
    const key = name.toLowerCase();
    const plain = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
    if ((values.get(key) ?? plain) !== plain) return true;
    values.set(key, plain);
  }
  return false;
}

const TOKEN = String.raw`[!#-'*+\-.0-9A-Z^-~]+`;
const MEDIA_TYPE = new RegExp(`^${TOKEN}(/${TOKEN})?$`);
const VALUE = String.raw`${TOKEN}|"(?:[^"\\]|\\.)*"`;
const PARAMETER = new RegExp(String.raw`;\s*(${TOKEN})\s*=\s*(${VALUE})`, 'g');
const PARAMETERS = new RegExp(String.raw`^(\s*;\s*${TOKEN}\s*=\s*(${VALUE}))*\s*;?\s*$`);

function unknownFormat(accepted: readonly string[]): StatusError {
  const message = 'the body of the request was in an unknown format - accepted media types include';
  return statusError('UnsupportedMediaType', `${message}: ${accepted.join(', ')}`);
}
