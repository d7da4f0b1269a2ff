// Parsers of option values. Each parser throws a ValueError that describes the expected value.

import { OwnAudiencePrefix } from '../api/names.ts';
import { validateDns1123Label, validateDns1123Subdomain } from '../kubernetes/names.ts';
import { parseDuration } from '../std/duration.ts';

/** Parser of the text of an option. */
export interface Parser<T> {
  (text: string): T;
  /** Valid strings, for shell completion; undefined for none. */
  readonly words?: readonly string[];
}

/** Invalid value of an option; the message describes the expected value and completes "must be …". */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

/** Accepts any string. */
export const anyText: Parser<string> = (text) => text;

/** Parses `true` and `false`. */
export const flag: Parser<boolean> = (text) => {
  if (text !== 'true' && text !== 'false') throw new ValueError('true or false');
  return text === 'true';
};

/** Returns a parser that accepts integers from 0 to `max`. */
export function integer(max: number): Parser<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value <= max)) throw new ValueError(`an integer from 0 to ${max}`);
    return value;
  };
}

/** Parses a port; 0 selects a free port. */
export const port = integer(65_535);

/** Parses the name of a Kubernetes object. */
export const objectName: Parser<string> = (text) => {
  if (validateDns1123Subdomain(text).length > 0)
    throw new ValueError('a name: at most 253 lowercase letters, digits, dots and hyphens, with a letter or digit at both ends');
  return text;
};

/** Parses the name of a namespace. */
export const namespace: Parser<string> = (text) => {
  if (!isLabel(text))
    throw new ValueError('a namespace name: at most 63 lowercase letters, digits and hyphens, with a letter or digit at both ends');
  return text;
};

/** Parses a comma-separated list of namespaces. */
export const namespaces: Parser<readonly string[]> = (text) => {
  const names = splitList(text);
  if (names.length === 0 || !names.every(isLabel)) throw new ValueError('a comma-separated list of namespaces');
  return names;
};

/** Parses a comma-separated list. */
export const list: Parser<readonly string[]> = (text) => {
  const items = splitList(text);
  if (items.length === 0) throw new ValueError('a comma-separated list');
  return items;
};

/** Parses a comma-separated list of audiences, none of which is reserved for Purser's own tokens. */
export const audiences: Parser<readonly string[]> = (text) => {
  const items = list(text);
  if (items.some((item) => item.startsWith(OwnAudiencePrefix)))
    throw new ValueError(`a comma-separated list of audiences that do not begin with ${OwnAudiencePrefix}`);
  return items;
};

/** Parses a path segment that needs no escaping. */
export const pathSegment: Parser<string> = (text) => {
  if (!isLabel(text))
    throw new ValueError('a path segment: at most 63 lowercase letters, digits and hyphens, with a letter or digit at both ends');
  return text;
};

/** Parses the URL of a server: https, without user, query or fragment. Removes trailing slashes. */
export const httpsUrl: Parser<string> = (text) => {
  const url = URL.parse(text);
  const isServer = url?.protocol === 'https:' && url.username === '' && url.password === '' && !/[?#]/.test(text);
  if (!isServer) throw new ValueError('an https URL without user, query or fragment, such as https://purser.example.com');
  return url.href.replace(/\/+$/, '');
};

/** Parses a service account, written as NAMESPACE/NAME. */
export const serviceAccount: Parser<ServiceAccountName> = (text) => {
  const [own = '', name = '', ...rest] = text.split('/');
  const isValid = isLabel(own) && validateDns1123Subdomain(name).length === 0 && rest.length === 0;
  if (!isValid) throw new ValueError('a service account such as deploy/deployer');
  return { namespace: own, name };
};

/** Namespace and name of a service account. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Returns a parser that accepts one of the words. */
export function oneOf<const T extends string>(words: readonly T[]): Parser<T> {
  const parse = (text: string): T => {
    const word = words.find((candidate) => candidate === text);
    if (word === undefined) throw new ValueError(`one of ${words.join(', ')}`);
    return word;
  };
  return Object.assign(parse, { words });
}

/** Returns a parser that accepts comma-separated lists of the words; the result has the order of `words`. */
export function someOf<const T extends string>(words: readonly T[]): Parser<readonly T[]> {
  return (text) => {
    const items = splitList(text);
    if (items.length === 0 || !items.every((item) => words.some((word) => word === item)))
      throw new ValueError(`a comma-separated list of ${words.join(', ')}`);
    return words.filter((word) => items.includes(word));
  };
}

/** Parses 0 or a duration of at least one second; returns milliseconds. */
export const durationOrZero: Parser<number> = (text) => {
  const ms = parseDurationMs(text);
  if (ms !== 0 && !(ms >= MIN_DURATION_MS)) throw new ValueError('0 or a duration of at least 1s, for example 15m or 1h30m');
  return ms;
};

/** Parses a duration of at least one second; returns milliseconds. */
export const duration: Parser<number> = (text) => {
  const ms = parseDurationMs(text);
  if (!(ms >= MIN_DURATION_MS)) throw new ValueError('a duration of at least 1s, for example 10s or 1m30s');
  return ms;
};

/** Parses the lifetime of a token; returns whole seconds. Kubernetes rejects lifetimes below ten minutes. */
export const tokenLifetime: Parser<number> = (text) => {
  const seconds = Math.floor(parseDurationMs(text) / 1_000);
  if (!(seconds >= MIN_LIFETIME_SECONDS)) throw new ValueError('a duration of at least 10m, for example 24h');
  return seconds;
};

const MIN_DURATION_MS = 1_000;
const MIN_LIFETIME_SECONDS = 600;

/** Splits a comma-separated list; removes surrounding whitespace, empty items and duplicates. */
function splitList(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ''))];
}

function isLabel(text: string): boolean {
  return validateDns1123Label(text).length === 0;
}

function parseDurationMs(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    return Number.NaN;
  }
}
