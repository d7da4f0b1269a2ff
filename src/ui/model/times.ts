// Times, durations and numbers as the page writes them. Durations have at most two units, so that columns keep their width.

const SECOND = 1_000;
const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;
const YEAR = 365 * DAY;

/** Returns a duration as at most two units: `45 s`, `12 min`, `3 h 05 min`, `2 d 4 h`, `1 y 20 d`. */
export function formatDuration(ms: number): string {
  const positive = Math.max(0, ms);
  if (positive < MINUTE) return `${Math.floor(positive / SECOND)} s`;
  if (positive < HOUR) return `${Math.floor(positive / MINUTE)} min`;
  if (positive < DAY) return `${Math.floor(positive / HOUR)} h ${String(Math.floor((positive % HOUR) / MINUTE)).padStart(2, '0')} min`;
  if (positive < YEAR) return withRest(Math.floor(positive / DAY), 'd', Math.floor((positive % DAY) / HOUR), 'h');
  return withRest(Math.floor(positive / YEAR), 'y', Math.floor((positive % YEAR) / DAY), 'd');
}

function withRest(count: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${count} ${unit}` : `${count} ${unit} ${rest} ${restUnit}`;
}

/** Returns a time relative to now: `in 12 min`, `3 h 05 min ago`, `now`. */
export function formatRelative(at: number, now: number): string {
  const ms = at - now;
  if (Math.abs(ms) < SECOND) return 'now';
  return ms > 0 ? `in ${formatDuration(ms)}` : `${formatDuration(-ms)} ago`;
}

/** Returns a time in UTC, to the second: `2026-11-17 08:30:00 UTC`. */
export function formatTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** Returns a number with separators between groups of three digits, as in `10,000`. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
}

/** Returns a number with its noun: `1 token`, `10,000 tokens`. */
export function formatQuantity(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}
