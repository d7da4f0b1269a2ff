// Plain scalars of YAML 1.1, resolved as the YAML library of Kubernetes resolves them.

/** What a plain scalar stands for. Timestamps are recognised, though Kubernetes keeps them as text. */
export type ResolvedScalar =
  | { readonly type: 'string' | 'timestamp' }
  | { readonly type: 'null' }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'integer'; readonly value: bigint }
  | { readonly type: 'float'; readonly value: number };

/** Resolves the text of a plain scalar. */
export function resolveScalar(text: string): ResolvedScalar {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  if (/^\.\d/.test(text)) return FLOAT.test(text) ? floatOf(text) : STRING;
  if (!/^[-+\d]/.test(text)) return STRING;
  if (isTimestamp(text)) return { type: 'timestamp' };
  const plain = text.replaceAll('_', '');
  const integer = integerOf(plain);
  if (integer !== undefined) return { type: 'integer', value: integer };
  return FLOAT.test(plain) ? floatOf(plain) : STRING;
}

/** A float as the YAML library prints it: Go's %g with the fewest digits. */
export function floatText(value: number): string {
  const [digits = '', exponentText = '0'] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return Object.is(value, -0) ? '-0' : String(value);
  return `${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}

const STRING: ResolvedScalar = { type: 'string' };
const FLOAT = /^[-+]?(\.\d+|\d+(\.\d*)?)([eE][-+]?\d+)?$/;

const WORDS: ReadonlyMap<string, ResolvedScalar> = new Map([
  ...words(['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'], { type: 'boolean', value: true }),
  ...words(['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'], { type: 'boolean', value: false }),
  ...words(['', '~', 'null', 'Null', 'NULL'], { type: 'null' }),
  ...words(['.nan', '.NaN', '.NAN'], { type: 'float', value: Number.NaN }),
  ...words(['.inf', '.Inf', '.INF', '+.inf', '+.Inf', '+.INF'], { type: 'float', value: Number.POSITIVE_INFINITY }),
  ...words(['-.inf', '-.Inf', '-.INF'], { type: 'float', value: Number.NEGATIVE_INFINITY }),
]);

function words(texts: readonly string[], scalar: ResolvedScalar): [string, ResolvedScalar][] {
  return texts.map((text) => [text, scalar]);
}

function floatOf(text: string): ResolvedScalar {
  const value = Number(text);
  return Number.isFinite(value) ? { type: 'float', value } : STRING;
}

/** Go's ParseInt and then ParseUint with base 0: prefixes tell the base, a bare leading zero means octal. */
function integerOf(text: string): bigint | undefined {
  const [, sign = '', digits = ''] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  const magnitude = magnitudeOf(digits);
  if (magnitude === undefined) return undefined;
  const value = sign === '-' ? -magnitude : magnitude;
  if (BigInt.asIntN(64, value) === value) return value;
  return sign === '' && BigInt.asUintN(64, value) === value ? value : undefined;
}

function magnitudeOf(digits: string): bigint | undefined {
  if (/^(0|[1-9]\d*|0[xX][\da-fA-F]+|0[bB][01]+|0[oO][0-7]+)$/.test(digits)) return BigInt(digits.toLowerCase());
  return /^0[0-7]+$/.test(digits) ? BigInt(`0o${digits.slice(1)}`) : undefined;
}

const TIMESTAMP =
  /^(\d{4})-(\d\d?)-(\d\d?)(?:(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?(?:Z|[-+](\d\d):(\d\d))| +(\d\d?):(\d\d?):(\d\d?)(?:[.,]\d+)?))?$/;

function isTimestamp(text: string): boolean {
  const match = TIMESTAMP.exec(text);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0, ...time] = match.slice(1).map((part) => Number(part ?? 0));
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0, plainHour = 0, plainMinute = 0, plainSecond = 0] = time;
  const lastDay = new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate();
  if (month < 1 || month > 12 || day < 1 || day > lastDay || zoneHour > 24 || zoneMinute > 60) return false;
  return Math.max(hour, plainHour) < 24 && Math.max(minute, plainMinute, second, plainSecond) < 60;
}
