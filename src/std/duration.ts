// Durations in Go's notation: `1h30m`, `250ms`, `-1.5s`.

/** Parses a Go duration to milliseconds. Throws a SyntaxError with Go's message. */
export function parseDuration(text: string): number {
  const unsigned = text.replace(/^[-+]/, '');
  if (unsigned === '0') return 0;
  if (unsigned === '') throw durationError('invalid duration', text);
  const negative = text.startsWith('-');
  const total = sumParts(unsigned, text);
  if (total === LIMIT && !negative) throw durationError('invalid duration', text);
  return toMilliseconds(negative ? -total : total);
}

const NS_PER_MS = 1_000_000n;
/** Absolute limit of Go's durations, in nanoseconds. Only a negative duration can have this value. */
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
    total += toNanoseconds(part, text);
    if (total > LIMIT) throw durationError('invalid duration', text);
    rest = rest.slice(part?.[0].length);
  }
  return total;
}

function toNanoseconds(part: RegExpExecArray | null, text: string): bigint {
  const [, digits = '', fraction = '', unit = ''] = part ?? [];
  const whole = BigInt(digits);
  if ((digits === '' && fraction === '') || whole > LIMIT) throw durationError('invalid duration', text);
  if (unit === '') throw durationError('missing unit in duration', text);
  const unitNs = UNITS.get(unit);
  if (unitNs === undefined) throw durationError(`unknown unit ${quote(unit)} in duration`, text);
  return whole * unitNs + convertFraction(unitNs, fraction);
}

/** Computes in floating point like Go. Ignores digits after the 18th, which are worth far less than a nanosecond. */
function convertFraction(unitNs: bigint, fraction: string): bigint {
  const digits = fraction.slice(0, 18);
  return BigInt(Math.trunc(Number(digits) * (Number(unitNs) / 10 ** digits.length)));
}

/** Converts whole milliseconds and the fraction separately, so that whole milliseconds stay exact. */
function toMilliseconds(ns: bigint): number {
  return Number(ns / NS_PER_MS) + Number(ns % NS_PER_MS) / Number(NS_PER_MS);
}

function durationError(what: string, text: string): SyntaxError {
  return new SyntaxError(`time: ${what} ${quote(text)}`);
}

/** Quotes like Go's time package, which escapes bytes below 0x20 and above 0x7f. */
function quote(text: string): string {
  const chars = Array.from(Buffer.from(text), (byte) => {
    if (byte < 0x20 || byte > 0x7f) return `\\x${byte.toString(16).padStart(2, '0')}`;
    const char = String.fromCharCode(byte);
    return char === '"' || char === '\\' ? `\\${char}` : char;
  });
  return `"${chars.join('')}"`;
}
