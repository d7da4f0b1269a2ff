// The formats that are enforced on strings and numbers; all others are remarks.

import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import {
  isCidr,
  isCreditCard,
  isDate,
  isDateTime,
  isDuration,
  isHostname,
  isIPv4Text,
  isIPv6Text,
  isIsbn10,
  isIsbn13,
  isMac,
  isRequestUri,
} from './format-checks.ts';

/** The format of a schema, if it is one that counts for its type. */
export function enforcedFormat(schema: Schema): string | undefined {
  const { type, format } = schema;
  if (format === undefined || schema['x-kubernetes-int-or-string']) return undefined;
  if (type === 'integer') return format === 'int32' || format === 'int64' ? format : undefined;
  if (type === 'number') return format === 'float' || format === 'double' ? format : undefined;
  return (type === undefined || type === 'string') && TEXT_FORMATS.has(plain(format)) ? format : undefined;
}

/** Whether a text has the format; formats that are not known accept anything. */
export function hasFormat(text: string, format: string): boolean {
  return TEXT_FORMATS.get(plain(format))?.(text) ?? true;
}

/** Format names are compared without dashes. */
function plain(format: string): string {
  return format.replaceAll('-', '');
}

function like(pattern: RegExp): (text: string) => boolean {
  return (text) => pattern.test(text);
}

const TEXT_FORMATS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', like(/^[0-9a-fA-F]{24}$/)],
  ['byte', like(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/)],
  ['cidr', isCidr],
  ['creditcard', isCreditCard],
  ['date', isDate],
  ['datetime', isDateTime],
  ['duration', isDuration],
  ['email', like(/^(?:[^<>@]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/)],
  ['hexcolor', like(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['hostname', isHostname],
  ['ipv4', isIPv4Text],
  ['ipv6', isIPv6Text],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['k8slongname', (text) => text.length <= 253 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/.test(text)],
  ['k8sshortname', (text) => text.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(text)],
  ['mac', isMac],
  ['password', () => true],
  ['rgbcolor', like(/^rgb\(\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])(?:\s*,\s*(?:0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])){2}\s*\)$/)],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['uri', isRequestUri],
  ['uuid', like(/^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid3', like(/^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i)],
  ['uuid4', like(/^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
  ['uuid5', like(/^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i)],
]);
