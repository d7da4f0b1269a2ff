// The timeline: a linear scale around now, its ticks, and the bars of tokens.

import type { Token } from './objects.ts';

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** Spans of the timeline, from an hour to a year, in milliseconds. */
export const ZOOMS = { '1h': HOUR, '6h': 6 * HOUR, '1d': DAY, '1w': 7 * DAY, '1m': 30 * DAY, '3m': 91 * DAY, '1y': 365 * DAY } as const;
export type Zoom = keyof typeof ZOOMS;
export const ZOOM_NAMES = Object.keys(ZOOMS) as readonly Zoom[];

/** Labels of the spans. */
export const ZOOM_WORDS: Readonly<Record<Zoom, string>> = {
  '1h': '1 hour',
  '6h': '6 hours',
  '1d': '1 day',
  '1w': '1 week',
  '1m': '30 days',
  '3m': '3 months',
  '1y': '1 year',
};

/** Share of the span that lies before now. */
const PAST = 0.2;

/** Visible period, in milliseconds since the epoch. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly now: number;
}

/** Returns the scale of a span around now. */
export function toScale(zoom: Zoom, now: number): Scale {
  const span = ZOOMS[zoom];
  return { from: now - span * PAST, to: now + span * (1 - PAST), now };
}

/** Returns the position of a time on the scale: 0 at its start, 1 at its end. */
export function toPosition(at: number, { from, to }: Scale): number {
  return (at - from) / (to - from);
}

/** Returns the next longer (1) or shorter (-1) span; the same span if there is none. */
export function zoomBy(zoom: Zoom, steps: 1 | -1): Zoom {
  const index = ZOOM_NAMES.indexOf(zoom) + steps;
  return ZOOM_NAMES[Math.min(ZOOM_NAMES.length - 1, Math.max(0, index))] ?? zoom;
}

/** A part of a token's lane. Positions are from 0 to 1, clipped to the scale. */
export interface Bar {
  /** Elapsed: lifetime before now. Valid: from now to the renewal. Reserve: from the renewal to the expiry. Expired: since the expiry. */
  readonly kind: 'elapsed' | 'valid' | 'reserve' | 'expired';
  readonly left: number;
  readonly right: number;
}

/** The lane of one token: its lifetime as bars on the timeline, with marks for renewal and expiry. */
export interface Lane {
  readonly bars: readonly Bar[];
  /** Position of the next renewal; undefined if it is unknown or outside the scale. */
  readonly renewal: number | undefined;
  /** Position of the expiry; undefined if it is unknown or outside the scale. */
  readonly expiry: number | undefined;
  /** Side of the scale on which the whole lane lies; undefined if a part is visible or there is no token. */
  readonly beyond: 'before' | 'after' | undefined;
}

export function toLane({ issuedAt, renewsAt, expiresAt }: Token, scale: Scale): Lane {
  if (expiresAt === undefined) return { bars: [], renewal: undefined, expiry: undefined, beyond: undefined };
  const { now } = scale;
  const start = issuedAt ?? Math.min(now, expiresAt);
  const renewal = renewsAt !== undefined && renewsAt < expiresAt ? Math.max(renewsAt, start) : expiresAt;
  const bars = [
    clip('elapsed', start, Math.min(now, expiresAt), scale),
    clip('valid', Math.max(now, start), renewal, scale),
    clip('reserve', Math.max(now, renewal), expiresAt, scale),
    clip('expired', expiresAt, now, scale),
  ].flat();
  return {
    bars,
    renewal: renewsAt === undefined ? undefined : toVisiblePosition(renewsAt, scale),
    expiry: toVisiblePosition(expiresAt, scale),
    beyond: bars.length > 0 ? undefined : expiresAt < scale.from ? 'before' : 'after',
  };
}

function clip(kind: Bar['kind'], start: number, end: number, scale: Scale): readonly Bar[] {
  const left = Math.max(0, toPosition(start, scale));
  const right = Math.min(1, toPosition(end, scale));
  return right > left ? [{ kind, left, right }] : [];
}

function toVisiblePosition(at: number, scale: Scale): number | undefined {
  const position = toPosition(at, scale);
  return position >= 0 && position <= 1 ? position : undefined;
}

export interface Tick {
  readonly position: number;
  readonly label: string;
  /** True for a tick at the start of the next larger unit: a day, a month or a year. */
  readonly isMajor: boolean;
}

const STEPS = [5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY] as const;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** Returns the ticks of a scale, at most `max` + 1. `zoneMs` is the offset of the time zone from UTC, in milliseconds. */
export function toTicks(scale: Scale, max: number, zoneMs = 0): readonly Tick[] {
  const step = STEPS.find((each) => (scale.to - scale.from) / each <= max);
  const times = step === undefined ? computeMonths(scale, max, zoneMs) : computeSteps(scale, step, zoneMs);
  return times.map((at) => ({ position: toPosition(at, scale), ...toLabel(at + zoneMs, step ?? 30 * DAY) }));
}

function computeSteps({ from, to }: Scale, step: number, zoneMs: number): readonly number[] {
  const first = Math.ceil((from + zoneMs) / step) * step - zoneMs;
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step);
}

function computeMonths({ from, to }: Scale, max: number, zoneMs: number): readonly number[] {
  const stride = Math.max(1, Math.ceil((to - from) / (30 * DAY) / max));
  const start = new Date(from + zoneMs);
  const times: number[] = [];
  for (let month = start.getUTCMonth() + 1; ; month += 1) {
    const at = Date.UTC(start.getUTCFullYear(), month, 1) - zoneMs;
    if (at > to) return times;
    if (month % stride === 0) times.push(at);
  }
}

/** Returns the label of a tick. `local` is shifted by the time zone, so that UTC methods return local time. */
function toLabel(local: number, step: number): Pick<Tick, 'label' | 'isMajor'> {
  const date = new Date(local);
  const month = MONTHS[date.getUTCMonth()] ?? '';
  const isMidnight = local % DAY === 0;
  if (step >= 30 * DAY)
    return date.getUTCMonth() === 0 ? { label: String(date.getUTCFullYear()), isMajor: true } : { label: month, isMajor: false };
  if (step >= DAY) return { label: `${date.getUTCDate()} ${month}`, isMajor: date.getUTCDate() === 1 };
  if (isMidnight) return { label: `${date.getUTCDate()} ${month}`, isMajor: true };
  return { label: date.toISOString().slice(11, 16), isMajor: false };
}

/** Number of renewals and of expiries without renewal in one period. */
export interface Bin {
  readonly from: number;
  readonly renewals: number;
  readonly expiries: number;
}

/** Counts scheduled renewals, and expiries of tokens that will not be renewed, in equal periods from now. */
export function toBins(tokens: Iterable<Token>, now: number, spanMs: number, count: number): readonly Bin[] {
  const width = spanMs / count;
  const bins = Array.from({ length: count }, (_, index) => ({ from: now + index * width, renewals: 0, expiries: 0 }));
  for (const { renewsAt, expiresAt, rotationFailing } of tokens) {
    const isFailing = rotationFailing?.status === 'True';
    const renewal = renewsAt !== undefined && !isFailing ? bins[Math.floor((Math.max(renewsAt, now) - now) / width)] : undefined;
    const isRenewed = renewsAt !== undefined && !isFailing;
    const expiry = !isRenewed && expiresAt !== undefined && expiresAt > now ? bins[Math.floor((expiresAt - now) / width)] : undefined;
    if (renewal !== undefined) renewal.renewals += 1;
    if (expiry !== undefined) expiry.expiries += 1;
  }
  return bins;
}
