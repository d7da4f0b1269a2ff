// Style of a string in YAML: plain if unambiguous, otherwise quoted or a literal block.

import { resolveScalar } from './scalar.ts';

export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal';

/** Chooses the style of a string; keys stay on one line. */
export function chooseScalarStyle(text: string, isKey: boolean): ScalarStyle {
  const isSpecial = SPECIAL_CHARACTER.test(text) || SPACE_BEFORE_BREAK.test(text);
  if (text.includes('\n')) return isKey || isSpecial || text.endsWith(' ') ? 'double' : 'literal';
  if (isSpecial || !resolvesToText(text) || (isKey && LINE_BREAK.test(text))) return 'double';
  if (!NOT_PLAIN.test(text)) return 'plain';
  return SPACE_AFTER_BREAK.test(text) ? 'double' : 'single';
}

/** Returns whether a key can be written without a question mark. */
export function isSimpleKey(key: string): boolean {
  return !LINE_BREAK.test(key) && Buffer.byteLength(key) <= 128;
}

/** Returns whether a character is a line break. Excludes CR and NEL, which are always escaped. */
export function isLineBreak(char: string): boolean {
  return char === '\n' || char === '\u2028' || char === '\u2029';
}

/** Returns a character as it is written within double quotes. */
export function escapeInDoubleQuotes(char: string): string {
  const named = ESCAPES[char];
  if (named !== undefined) return named;
  if (!SPECIAL_CHARACTER.test(char) && !LINE_BREAK.test(char)) return char;
  const code = char.codePointAt(0) ?? 0;
  const hex = code.toString(16).toUpperCase();
  if (code <= 0xff) return `\\x${hex.padStart(2, '0')}`;
  return code <= 0xffff ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
}

const LINE_BREAK = /[\r\n\u0085\u2028\u2029]/;
const SPACE_BEFORE_BREAK = / [\r\n\u0085\u2028\u2029]/;
const SPACE_AFTER_BREAK = /[\r\n\u0085\u2028\u2029] /;
/** Pattern of characters that the YAML library considers unprintable, such as tabs and all those above the Basic Multilingual Plane. */
const SPECIAL_CHARACTER = /[^\n\x20-\x7e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u;
/** Pattern of text that cannot be plain: spaces at either end, line breaks, and characters that start another construct. */
const NOT_PLAIN = /^ | $|[\n\u2028\u2029]|^(?:---|\.\.\.|[#,[\]{}&*!|>'"%@`]|[?:-](?: |$))|:(?: |$)| #/;

const ESCAPES: Readonly<Record<string, string>> = {
  '\0': '\\0',
  '\u0007': '\\a',
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\v': '\\v',
  '\f': '\\f',
  '\r': '\\r',
  '\u001b': '\\e',
  '"': '\\"',
  '\\': '\\\\',
  '\u0085': '\\N',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

function resolvesToText(text: string): boolean {
  return resolveScalar(text).type === 'string' && !BASE_60.test(text);
}

/** Pattern of numbers in base 60. `resolveScalar` treats them as text, but other parsers can read them as numbers. */
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;
