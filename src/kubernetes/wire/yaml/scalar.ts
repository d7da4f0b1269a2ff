// Plain scalars of YAML 1.1, resolved as the YAML library of Kubernetes resolves them.

/** Value of a plain scalar. Timestamps are recognized, although Kubernetes keeps them as text. */
export type ResolvedScalar =
  | { readonly type: 'string' }
  | { readonly type: 'timestamp' }
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'integer'; readonly value: bigint }
  | { readonly type: 'float'; readonly value: number };

/** Resolves the text of a plain scalar. */
export function resolveScalar(text: string): ResolvedScalar {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (/^\.\d/.test(text)) return FLOAT.test(text) ? toFloat(text) : STRING;
  if (!/^[-+\d]/.test(text)) return STRING;
  if (isTimestamp(text)) return { type: 'timestamp' };
  const plain = text.replaceAll('_', '');
  const integer = parseInteger(plain);
  if (integer !== undefined) return { type: 'integer', value: integer };
  return FLOAT.test(plain) ? toFloat(plain) : STRING;
}

const STRING: ResolvedScalar = { type: 'string' };
const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;

const WORDS: ReadonlyMap<string, ResolvedScalar> = new Map([
  ...toEntries(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'], { type: 'boolean', value: true }),
  ...toEntries(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'], { type: 'boolean', value: false }),
  ...toEntries(['', '~', 'null', 'Null', 'NULL'], { type: 'null' }),
  ...toEntries(['.nan', '.NaN', '.NAN'], { type: 'float', value: Number.NaN }),
  ...toEntries(['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'], { type: 'float', value: Number.POSITIVE_INFINITY }),
  ...toEntries(['-.inf', '-.Inf', '-.INF'], { type: 'float', value: Number.NEGATIVE_INFINITY }),
]);

function toEntries(texts: readonly string[], scalar: ResolvedScalar): [string, ResolvedScalar][] {
  return texts.map((text) => [text, scalar]);
}

function toFloat(text: string): ResolvedScalar {
  const value = Number(text);
  return Number.isFinite(value) ? { type: 'float', value } : STRING;
}

/**
 * Parses an integer like Go's ParseInt, then ParseUint, with base 0: prefixes select the base, a bare leading zero means octal. Returns
 * undefined for any other text, and for an integer that does not fit into 64 bits.
 */
function parseInteger(text: string): bigint | undefined {
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const magnitude = parseMagnitude(digits);
  if (magnitude === undefined) return undefined;
  const value = sign === '-' ? -magnitude : magnitude;
  if (BigInt.asIntN(64, value) === value) return value;
  return sign === '' && BigInt.asUintN(64, value) === value ? value : undefined;
}

function parseMagnitude(digits: string): bigint | undefined {
  if (/^(0|[1-9]\d*|0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+)$/.test(digits)) return BigInt(digits.toLowerCase());
  return /^0[0-7]+$/.test(digits) ? BigInt(`0o${digits.slice(1)}`) : undefined;
}

const DATE = String.raw`(\d{4})-(0?[1-9]|1[0-2])-(\d\d?)`;
const TIME = String.raw`(?:[01]?\d|2[0-3]):[0-5]?\d:[0-5]?\d(?:[.,]\d+)?`;
const ZONE = String.raw`(?:Z|[-+](?:[01]\d|2[0-4]):(?:[0-5]\d|60))`;
const TIMESTAMP = new RegExp(`^${DATE}(?:[Tt]${TIME}${ZONE}| +${TIME})?$`);

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number);
  // The calendar repeats every 400 years, and Date would add 1900 to years before 100.
  const lastDay = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  return day >= 1 && day <= lastDay;
}
