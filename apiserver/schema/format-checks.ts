// Formats that take more than one regular expression to tell.

import { isIPv4, isIPv6 } from 'node:net';
import { matchesPattern, patternMatches } from './pattern.ts';

/** A day of the calendar: 2006-01-02. */
export function isDate(text: string): boolean {
  const parts = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (parts === null) return false;
  const [year, month, day] = parts.slice(1).map(Number);
  const date = new Date(Date.UTC(2000, 0, 1));
  date.setUTCFullYear(year ?? 0, (month ?? 0) - 1, day);
  return date.getUTCMonth() + 1 === month && date.getUTCDate() === day;
}

/** A date, a T, and a time of day with its zone. */
export function isDateTime(text: string): boolean {
  const [date = '', time] = text.toLowerCase().split('t');
  const parts = /^(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.exec(time ?? '');
  if (parts === null || !isDate(date)) return false;
  const [, hour = '', minute = '', second = ''] = parts;
  return hour <= '23' && minute <= '59' && second <= '59';
}

/** A Go duration, or words such as `3 days`. */
export function isDuration(text: string): boolean {
  if (matchesPattern(GO_DURATION, text)) return true;
  return patternMatches(WORDED_DURATION, text).some((part) => DURATION_UNIT.test(part.replace(/^[\d\s]+/, '')));
}

/** Matched in linear time: a text of many digits and no unit would take forever otherwise. */
const GO_DURATION = String.raw`^[+-]?(?:0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+)$`;
const WORDED_DURATION = String.raw`\d+\s*[A-Za-zµ]+`;
const DURATION_UNIT = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/i;

/** An IPv4 address, whose parts may have leading zeros, or an IPv6 address that ends like one. */
export function isIPv4Text(text: string): boolean {
  return isIPv4(withoutLeadingZeros(text)) || (text.includes('.') && isIPv6Text(text));
}

export function isIPv6Text(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

/** An address and the length of a prefix. */
export function isCidr(text: string): boolean {
  const [, address = '', length = ''] = /^(.*)\/(\d{1,3})$/.exec(text) ?? [];
  if (length === '') return false;
  if (isIPv4(withoutLeadingZeros(address))) return Number(length) <= 32;
  return isIPv6Text(address) && Number(length) <= 128;
}

function withoutLeadingZeros(text: string): string {
  return text.replaceAll(/(?<=^|\.)0+(?=\d)/g, '');
}

/** Six, eight or twenty bytes with colons, dashes, or dots between. */
export function isMac(text: string): boolean {
  const bytes = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)$/i.test(text) || /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i.test(text);
  return bytes && [6, 8, 20].includes(text.replaceAll(/[:.-]/g, '').length / 2);
}

/** A host name as RFC 1034 and browsers have it. */
export function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255 || text.split('.').some((label) => Buffer.byteLength(label) > 63)) return false;
  return SINGLE_LABEL.test(text) || QUALIFIED_NAME.test(text);
}

const SINGLE_LABEL = /^[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?$/u;
const QUALIFIED_NAME = /^(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63}$/u;

/** An absolute URI or an absolute path. */
export function isRequestUri(text: string): boolean {
  if (!/^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|\/|\*$)/.test(text) || hasControlCharacter(text)) return false;
  const rest = text.replace(/^[a-zA-Z][a-zA-Z0-9+.-]*:/, '');
  if (!rest.startsWith('/')) return true;
  const [, authority = '', path = ''] = /^(?:\/\/([^/?]*))?([^?]*)/.exec(rest) ?? [];
  return AUTHORITY.test(authority) && !/%(?![0-9a-fA-F]{2})/.test(authority + path);
}

const AUTHORITY = /^(?:[^@/?#]*@)?(?:\[[0-9a-fA-F:.%]*\]|[^\s<>"\\^`{|}[\]:]*)(?::\d*)?$/;

function hasControlCharacter(text: string): boolean {
  return Array.from(text).some((char) => char < ' ' || char === '\u007f');
}

export function isIsbn10(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '');
  if (!/^(?:[0-9]{9}X|[0-9]{10})$/.test(digits)) return false;
  return Array.from(digits).reduce((sum, digit, index) => sum + (index + 1) * (digit === 'X' ? 10 : Number(digit)), 0) % 11 === 0;
}

export function isIsbn13(text: string): boolean {
  const digits = text.replaceAll(/[\s-]+/g, '');
  if (!/^[0-9]{13}$/.test(digits)) return false;
  return Array.from(digits).reduce((sum, digit, index) => sum + (index % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0;
}

/** The number of a payment card, whatever separates its digits. */
export function isCreditCard(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '');
  if (!CARD_NUMBER.test(digits)) return false;
  const sum = Array.from(digits)
    .reverse()
    .reduce((total, digit, index) => total + luhn(Number(digit), index), 0);
  return sum % 10 === 0;
}

function luhn(digit: number, index: number): number {
  const doubled = index % 2 === 1 ? digit * 2 : digit;
  return doubled > 9 ? doubled - 9 : doubled;
}

const CARD_NUMBER =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
