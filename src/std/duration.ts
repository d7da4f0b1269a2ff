// Durations in Go's notation: `1h30m`, `250ms`, `-1.5s`.

/** Parses a Go duration to milliseconds. Throws a SyntaxError with Go's message. */
export function parseDuration(text: string): number {
  const unsigned = text.replace(/^[-+]/, '');
  if (unsigned === '0') return 0;
  if (unsigned === '') throw problem('invalid duration', text);
  const negative = text.startsWith('-');
  const total = sumParts(unsigned, text);
  if (total === LIMIT && !negative) throw problem('invalid duration', text);
  return milliseconds(negative ? -total : total);
}

/** Formats a duration like Go: `1h30m0s`, `1.5s`, `250ms`, `0s`. */
export function durationText(ms: number): string {
  const whole = Math.trunc(Math.abs(ms));
  const ns = BigInt(whole) * NS_PER_MS + BigInt(Math.round((Math.abs(ms) - whole) * Number(NS_PER_MS)));
  return `${ms < 0 && ns > 0n ? '-' : ''}${unsignedText(ns)}`;
}

const NS_PER_MS = 1_000_000n;
const LIMIT = 1n << 63n;
const PART = /^(\d*)(?:\.(\d*))?([^.\d]*)/;

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['μs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
]);

function sumParts(unsigned: string, text: string): bigint {
  let total = 0n;
  for (let rest = unsigned; rest !== ''; ) {
    const part = PART.exec(rest);
    total += nanoseconds(part, text);
    if (total > LIMIT) throw problem('invalid duration', text);
    rest = rest.slice(part?.[0].length);
  }
  return total;
}

function nanoseconds(part: RegExpExecArray | null, text: string): bigint {
  const [, digits = '', fraction = '', unit = ''] = part ?? [];
  const whole = BigInt(digits);
  if ((digits === '' && fraction === '') || whole > LIMIT) throw problem('invalid duration', text);
  if (unit === '') throw problem('missing unit in duration', text);
  const unitNs = UNITS.get(unit);
  if (unitNs === undefined) throw problem(`unknown unit ${quote(unit)} in duration`, text);
  return whole * unitNs + fractionOf(unitNs, fraction);
}

/** Computes in floating point like Go; more than 18 digits make no difference. */
function fractionOf(unitNs: bigint, fraction: string): bigint {
  const digits = fraction.slice(0, 18);
  return BigInt(Math.trunc(Number(digits) * (Number(unitNs) / 10 ** digits.length)));
}

/** Converts whole milliseconds and the fraction separately, so that whole milliseconds stay exact. */
function milliseconds(ns: bigint): number {
  return Number(ns / NS_PER_MS) + Number(ns % NS_PER_MS) / Number(NS_PER_MS);
}

function unsignedText(ns: bigint): string {
  if (ns === 0n) return '0s';
  if (ns < 1_000n) return `${ns}ns`;
  if (ns < 1_000_000n) return `${decimal(ns, 3)}µs`;
  if (ns < 1_000_000_000n) return `${decimal(ns, 6)}ms`;
  const minutes = ns / 60_000_000_000n;
  const seconds = `${decimal(ns % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return seconds;
  return minutes < 60n ? `${minutes}m${seconds}` : `${minutes / 60n}h${minutes % 60n}m${seconds}`;
}

/** Formats an integer count of 10^-places as a decimal number without trailing zeros. */
function decimal(count: bigint, places: number): string {
  const digits = String(count).padStart(places + 1, '0');
  const fraction = digits.slice(-places).replace(/0+$/, '');
  return `${digits.slice(0, -places)}${fraction && `.${fraction}`}`;
}

function problem(what: string, text: string): SyntaxError {
  return new SyntaxError(`time: ${what} ${quote(text)}`);
}

/** Quotes like Go's time package, which escapes bytes outside printable ASCII. */
function quote(text: string): string {
  const chars = Array.from(Buffer.from(text), (byte) => {
    if (byte < 0x20 || byte > 0x7f) return `\\x${byte.toString(16).padStart(2, '0')}`;
    const char = String.fromCharCode(byte);
    return char === '"' || char === '\\' ? `\\${char}` : char;
  });
  return `"${chars.join('')}"`;
}
