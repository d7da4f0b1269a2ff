// Times as Go parses and formats them, with its error messages.

const RFC3339 = '2006-01-02T15:04:05Z07:00';
const RFC3339_MICRO = '2006-01-02T15:04:05.000000Z07:00';

/** Parses a metav1.Time (RFC 3339). Returns UTC in whole seconds; undefined for the zero time. Throws an Error with Go's message. */
export function parseTime(text: string): string | undefined {
  return formatTime(new TimeParser(text, RFC3339).parse().seconds);
}

/** Parses a metav1.MicroTime: six digits of fraction. Returns UTC; undefined for the zero time. Throws an Error with Go's message. */
export function parseMicroTime(text: string): string | undefined {
  const { seconds, fraction } = new TimeParser(text, RFC3339_MICRO).parse();
  return formatMicroTime(seconds, Number(fraction));
}

/** Formats seconds since 1970 as a metav1.Time; undefined for the zero time. */
export function formatTime(seconds: number): string | undefined {
  return seconds === ZERO_TIME ? undefined : `${formatUtc(seconds)}Z`;
}

/** Formats seconds since 1970 and microseconds as a metav1.MicroTime; undefined for the zero time. */
export function formatMicroTime(seconds: number, micros: number): string | undefined {
  if (seconds === ZERO_TIME && micros === 0) return undefined;
  return `${formatUtc(seconds)}.${String(micros).padStart(6, '0')}Z`;
}

/** First second of year 1, Go's zero time. */
const ZERO_TIME = -62_135_596_800;

function formatUtc(seconds: number): string {
  const at = new Date(seconds * 1000);
  const year = at.getUTCFullYear();
  const yearText = `${year < 0 ? '-' : ''}${String(Math.abs(year)).padStart(4, '0')}`;
  return `${yearText}${at
    .toISOString()
    .replace(/^[+-]?\d+/, '')
    .slice(0, 15)}`;
}

interface ParsedTime {
  /** Seconds since 1970, UTC. */
  readonly seconds: number;
  /** Digits of the fraction; empty if there is none. */
  readonly fraction: string;
}

/** Parser of times in the two layouts, like time.Parse; the value has one character per byte, because Go counts bytes. */
class TimeParser {
  readonly #value: string;
  readonly #layout: string;
  #rest: string;

  constructor(text: string, layout: string) {
    this.#value = Buffer.from(text).toString('latin1');
    this.#layout = layout;
    this.#rest = this.#value;
  }

  parse(): ParsedTime {
    const year = this.#element('2006', /^\d{4}/);
    this.#literal('-');
    const month = this.#inRange(this.#element('01', /^\d\d/), 1, 12, 'month');
    this.#literal('-');
    const day = this.#element('02', /^\d\d/);
    this.#literal('T');
    const hour = this.#inRange(this.#element('15', /^\d\d?/), 0, 23, 'hour');
    this.#literal(':');
    const minute = this.#inRange(this.#element('04', /^\d\d/), 0, 59, 'minute');
    this.#literal(':');
    const second = this.#inRange(this.#element('05', /^\d\d/), 0, 59, 'second');
    const fraction = this.#fraction();
    const offset = this.#zone();
    if (this.#rest !== '') throw this.#failure(`: extra text: ${quote(this.#rest)}`);
    if (day < 1 || day > countDays(year, month)) throw this.#failure(': day out of range');
    return { seconds: toUtcSeconds([year, month, day], hour * 3600 + minute * 60 + second) - offset, fraction };
  }

  #literal(expected: string): void {
    if (!this.#rest.startsWith(expected)) throw this.#cannotParse(expected);
    this.#rest = this.#rest.slice(expected.length);
  }

  #element(name: string, pattern: RegExp): number {
    const [match] = pattern.exec(this.#rest) ?? [];
    if (match === undefined) throw this.#cannotParse(name);
    this.#rest = this.#rest.slice(match.length);
    return Number(match);
  }

  #inRange(value: number, min: number, max: number, unit: string): number {
    if (value < min || value > max) throw this.#failure(`: ${unit} out of range`);
    return value;
  }

  /** Parses the fraction. The layout of MicroTime requires six digits; the layout of Time accepts any number of digits, or no fraction. */
  #fraction(): string {
    const exact = this.#layout === RFC3339_MICRO;
    const [match, digits] = (exact ? /^[.,](\d{6})/ : /^[.,](\d+)/).exec(this.#rest) ?? [];
    if (match === undefined && exact) throw this.#cannotParse('.000000');
    this.#rest = this.#rest.slice(match?.length ?? 0);
    return digits ?? '';
  }

  #zone(): number {
    if (this.#rest.startsWith('Z')) {
      this.#rest = this.#rest.slice(1);
      return 0;
    }
    const [match, sign, hours, minutes] = /^([\s\S])(\d\d):(\d\d)/.exec(this.#rest) ?? [];
    if (match === undefined) throw this.#cannotParse('Z07:00');
    const hour = this.#inRange(Number(hours), 0, 24, 'time zone offset hour');
    const minute = this.#inRange(Number(minutes), 0, 60, 'time zone offset minute');
    if (sign !== '+' && sign !== '-') throw this.#cannotParse('Z07:00');
    this.#rest = this.#rest.slice(match.length);
    return (sign === '-' ? -1 : 1) * (hour * 3600 + minute * 60);
  }

  #cannotParse(element: string): Error {
    return this.#failure(` as ${quote(this.#layout)}: cannot parse ${quote(this.#rest)} as ${quote(element)}`);
  }

  #failure(message: string): Error {
    return new Error(`parsing time ${quote(this.#value)}${message}`);
  }
}

function countDays(year: number, month: number): number {
  const nextMonth = month === 12 ? [year + 1, 1, 1] : [year, month + 1, 1];
  return (toUtcSeconds(nextMonth, 0) - toUtcSeconds([year, month, 1], 0)) / 86_400;
}

function toUtcSeconds([year = 0, month = 1, day = 1]: readonly number[], secondOfDay: number): number {
  // Date.UTC would add 1900 to years before 100.
  return new Date(0).setUTCFullYear(year, month - 1, day) / 1000 + secondOfDay;
}

/** Quotes a string like Go's time package; the text has one character per byte. */
function quote(bytes: string): string {
  const escaped = bytes.replace(/["\\]|[^ -\x7f]/g, (char) =>
    char === '"' || char === '\\' ? `\\${char}` : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
  return `"${escaped}"`;
}
