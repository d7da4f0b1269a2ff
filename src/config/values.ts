// How the text of an option becomes a value. Each reader throws a ValueError that says what the text must be.

import { dns1123LabelProblems, dns1123SubdomainProblems } from '../kubernetes/names.ts';
import { parseDuration } from '../std/duration.ts';

/** Reads the text of an option. */
export type Reader<T> = (text: string) => T;

/** What the text of an option must be, as the end of a sentence. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
}

/** Takes any text. */
export const anyText: Reader<string> = (text) => text;

/** Reads `true` and `false`. */
export const flag: Reader<boolean> = (text) => {
  if (text !== 'true' && text !== 'false') throw new ValueError('true or false');
  return text === 'true';
};

/** Reads a whole number from 0 to `max`. */
export function whole(max: number): Reader<number> {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value <= max)) throw new ValueError(`a number from 0 to ${max}`);
    return value;
  };
}

/** Reads a port; 0 stands for any that is free. */
export const port = whole(65_535);

/** Reads the name of an object. */
export const objectName: Reader<string> = (text) => {
  if (dns1123SubdomainProblems(text).length > 0) throw new ValueError('a name of lower-case letters, digits, dots and hyphens');
  return text;
};

/** Reads the name of a namespace. */
export const namespace: Reader<string> = (text) => {
  if (!isLabel(text)) throw new ValueError('the name of a namespace');
  return text;
};

/** Reads names of namespaces. */
export const namespaces: Reader<readonly string[]> = (text) => {
  const names = listed(text);
  if (names.length === 0 || !names.every(isLabel)) throw new ValueError('names of namespaces with commas between them');
  return names;
};

/** Reads texts of any kind. */
export const texts: Reader<readonly string[]> = (text) => {
  const each = listed(text);
  if (each.length === 0) throw new ValueError('texts with commas between them');
  return each;
};

/** Reads a part of a path that needs no escaping. */
export const pathSegment: Reader<string> = (text) => {
  if (!isLabel(text)) throw new ValueError('a word of lower-case letters, digits and -');
  return text;
};

/** Reads one of the words. */
export function oneOf<const T extends string>(words: readonly T[]): Reader<T> {
  return (text) => {
    const word = words.find((each) => each === text);
    if (word === undefined) throw new ValueError(`one of ${words.join(', ')}`);
    return word;
  };
}

/** Reads some of the words. */
export function someOf<const T extends string>(words: readonly T[]): Reader<readonly T[]> {
  return (text) => {
    const given = listed(text);
    if (given.length === 0 || !given.every((each) => words.some((word) => word === each)))
      throw new ValueError(`${words.join(' or ')}, with commas between them`);
    return words.filter((word) => given.includes(word));
  };
}

/** Reads a duration; 0 stands for never. */
export const durationOrNever: Reader<number> = (text) => {
  const ms = durationMs(text);
  if (ms !== 0 && !(ms >= MIN_DURATION_MS)) throw new ValueError('0 or a time of at least a second such as 15m or 1h30m');
  return ms;
};

/** Reads a duration that is not 0. */
export const duration: Reader<number> = (text) => {
  const ms = durationMs(text);
  if (!(ms >= MIN_DURATION_MS)) throw new ValueError('a time of at least a second such as 10s or 1m30s');
  return ms;
};

/** Reads a lifetime of tokens in whole seconds; none is shorter than ten minutes. */
export const tokenLifetime: Reader<number> = (text) => {
  const seconds = Math.floor(durationMs(text) / 1_000);
  if (!(seconds >= MIN_LIFETIME_SECONDS)) throw new ValueError('a time of at least 10m such as 24h');
  return seconds;
};

const MIN_DURATION_MS = 1_000;
const MIN_LIFETIME_SECONDS = 600;

/** Each once, without the white space around it: what is in a store twice, or matches nothing for a space, helps nobody. */
function listed(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim());
  return [...new Set(parts.filter((part) => part !== ''))];
}

function isLabel(text: string): boolean {
  return dns1123LabelProblems(text).length === 0;
}

function durationMs(text: string): number {
  try {
    return parseDuration(text);
  } catch {
    return Number.NaN;
  }
}
