// Strings and JSON in Go's formats, as in Kubernetes messages and bodies.

/** Quotes a string like strconv.Quote: escapes quotes, backslashes and all characters that are not printable. */
export function quoteGoString(text: string): string {
  let quoted = '"';
  for (const char of text) quoted += escapeChar(char);
  return `${quoted}"`;
}

/** Encodes a value like encoding/json: compact, maps with sorted keys, HTML characters escaped. */
export function encodeGoJson(value: unknown): string {
  return compactJson(value, compareUtf8);
}

/** Encodes a value like `encodeGoJson`, but keeps the order of keys, as for structs. */
export function encodeGoStructJson(value: unknown): string {
  return compactJson(value);
}

function compactJson(value: unknown, order?: (a: string, b: string) => number): string {
  if (Array.isArray(value)) return `[${value.map((item) => compactJson(item, order)).join(',')}]`;
  if (typeof value === 'object' && value !== null) return `{${compactFields(value as Readonly<Record<string, unknown>>, order)}}`;
  if (typeof value === 'string') return encodeGoJsonString(value);
  if (typeof value === 'number') return encodeGoJsonNumber(value);
  return typeof value === 'boolean' || typeof value === 'bigint' ? String(value) : 'null';
}

function compactFields(fields: Readonly<Record<string, unknown>>, order?: (a: string, b: string) => number): string {
  const names = Object.keys(fields);
  if (order !== undefined) names.sort(order);
  let text = '';
  for (const name of names) {
    const value = fields[name];
    if (value !== undefined) text += `${text === '' ? '' : ','}${encodeGoJsonString(name)}:${compactJson(value, order)}`;
  }
  return text;
}

/** Encodes a JSON string like Go. Lone surrogates become `\ufffd`, like invalid UTF-8 in Go. */
export function encodeGoJsonString(text: string): string {
  const json = text.isWellFormed() ? JSON.stringify(text) : JSON.stringify(text).replace(LONE_SURROGATES, '$1\\ufffd');
  return JSON_ESCAPED.test(json) ? json.replace(JSON_ESCAPES, (char) => JSON_ESCAPE_OF[char] ?? char) : json;
}

/** Encodes a JSON number like Go: with an exponent below 1e-6 and from 1e21, such as 1e-7 and 1e+21. */
export function encodeGoJsonNumber(value: number): string {
  if (Object.is(value, -0)) return '-0';
  return String(value).replace(/e([+-])(\d)$/, (_, sign: string, digit: string) => `e${sign}${sign === '-' ? '' : '0'}${digit}`);
}

/** Formats a number like %v of fmt: integers without an exponent, other numbers as floats. */
export function formatGoNumber(value: number | bigint): string {
  return typeof value === 'bigint' || Number.isSafeInteger(value) ? String(value) : formatGoFloat(value);
}

/** Formats a float like %v of fmt: with an exponent below 1e-4 and from 1e6. */
export function formatGoFloat(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : String(value).replace('Infinity', 'Inf');
  const [digits = '', exponent = '0'] = value.toExponential().split('e');
  const power = Number(exponent);
  if (value === 0 || (power >= -4 && power < 6)) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Orders strings as Go does, by their UTF-8 bytes (UTF-16 order differs above the basic plane). */
export function compareUtf8(a: string, b: string): number {
  if (a === b) return 0;
  if (!SURROGATE.test(a) && !SURROGATE.test(b)) return a < b ? -1 : 1;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

const SURROGATE = /[\ud800-\udfff]/;
/** Escapes of lone surrogates in the output of JSON.stringify. The group matches escaped backslashes before an escape. */
const LONE_SURROGATES = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g;
const JSON_ESCAPED = /[<>&\u2028\u2029]/;
const JSON_ESCAPES = /[<>&\u2028\u2029]/g;
const JSON_ESCAPE_OF: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

const NAMED_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\u0007': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
};

/** Returns the result of unicode.IsPrint, which is true for letters, marks, numbers, punctuation, symbols and the ASCII space. */
export function isGoPrintable(char: string): boolean {
  return char === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

function escapeChar(char: string): string {
  const named = NAMED_ESCAPES[char];
  if (named !== undefined) return named;
  if (isGoPrintable(char)) return char;
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, '0')}`;
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
