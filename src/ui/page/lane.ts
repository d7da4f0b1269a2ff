// The lane of a token on the timeline, and the axis above all lanes.

import type { Token } from '../model/objects.ts';
import { type Bar, type Scale, toLane, toPosition, toTicks } from '../model/timeline.ts';
import { formatRelative, formatTime } from '../model/times.ts';
import { html } from './html.ts';

function formatPercent(position: number): string {
  return `${(position * 100).toFixed(3)}%`;
}

/** Renders the lane of a token: elapsed time, valid time, reserve after the renewal, and marks of renewal and expiry. */
export function renderLane(token: Token, scale: Scale, tone: string) {
  const { bars, renewal, expiry, beyond } = toLane(token, scale);
  return html`<svg class="lane ${tone}" role="img" aria-label=${describeLane(token, scale.now)}>
    <title>${formatLaneTitle(token)}</title>
    ${bars.map(({ kind, left, right }) => renderBar(kind, formatPercent(left), formatPercent(right)))}
    ${expiry !== undefined && html`<rect class="mark" key="expiry" x=${formatPercent(expiry)} y="50%" width="2" height="18" transform="translate(-1 -9)" />`}
    ${renewal !== undefined && renderDiamond(formatPercent(renewal))}
    ${beyond !== undefined && html`<text class="beyond" key="beyond" y="50%" dy="6" x=${beyond === 'before' ? '0' : '98%'}>${beyond === 'before' ? '‹' : '›'}</text>`}
    <rect class="now" key="now" x=${formatPercent(toPosition(scale.now, scale))} width="1" height="100%" />
  </svg>`;
}

function renderBar(kind: Bar['kind'], left: string, right: string) {
  return html`<line class="bar ${kind}" key=${kind} x1=${left} x2=${right} y1="50%" y2="50%" />`;
}

function renderDiamond(x: string) {
  return html`<svg key="renewal" x=${x} y="50%" overflow="visible"><path class="mark renewal" d="M0-5.5L5.5 0L0 5.5L-5.5 0z" /></svg>`;
}

/** Renders the legend of bars and marks. */
export function renderLegend() {
  const kinds = ['elapsed', 'valid', 'reserve'] as const;
  const key = (text: string, content: unknown) =>
    html`<span key=${text}><svg class="lane" width="18" height="18">${content}</svg>${text}</span>`;
  return html`<p class="marks" aria-hidden="true">
    ${kinds.map((kind) => key(kind, renderBar(kind, '0', '18')))}
    ${key('renewal', renderDiamond('9'))}
    ${key('expiry', html`<rect class="mark" x="8" width="2" height="18" />`)}
  </p>`;
}

function describeLane({ renewsAt, expiresAt }: Token, now: number): string {
  if (expiresAt === undefined) return 'No token';
  const renewal = renewsAt === undefined ? 'no renewal scheduled' : `renewal ${formatRelative(renewsAt, now)}`;
  return `${renewal}, expiry ${formatRelative(expiresAt, now)}`;
}

function formatLaneTitle({ issuedAt, renewsAt, expiresAt }: Token): string {
  const lines = [
    ['Issued', issuedAt],
    ['Renewal', renewsAt],
    ['Expiry', expiresAt],
  ] as const;
  return lines.flatMap(([name, at]) => (at === undefined ? [] : [`${name}: ${formatTime(at)}`])).join('\n');
}

/** Returns the ticks of the time axis, in the time zone of the browser. */
function toLocalTicks(scale: Scale) {
  return toTicks(scale, MAX_TICKS, -new Date(scale.now).getTimezoneOffset() * 60_000);
}

/** Maximum number of ticks. */
const MAX_TICKS = 9;
/** Distances from now, as fractions of the scale, within which the label of a tick would overlap the label "now". */
const COLLISION = { before: 0.13, after: 0.05 };

/** Returns CSS properties for the tick lines behind all lanes. Ticks of months have no lines, because they are not equidistant. */
export function toTickLines(scale: Scale): Readonly<Record<string, string>> {
  const [first, second] = toLocalTicks(scale);
  const step = first === undefined || second === undefined ? 1 : second.position - first.position;
  if (first === undefined || step >= 1 || scale.to - scale.from > MAX_LINED_MS) return { '--tick-step': '0', '--tick-offset': '0' };
  // CSS applies a background position in percent to the difference between the width of the lane and the width of a step.
  return { '--tick-step': formatPercent(step), '--tick-offset': formatPercent((first.position % step) / (1 - step)) };
}

/** Maximum length of a scale with tick lines, in milliseconds. Longer scales have ticks of months. */
const MAX_LINED_MS = 60 * 86_400_000;

/** Renders the axis of the timeline. */
export function renderAxis(scale: Scale) {
  const at = toPosition(scale.now, scale);
  const ticks = toLocalTicks(scale).filter(({ position }) => position < at - COLLISION.before || position > at + COLLISION.after);
  return html`<span class="axis" aria-hidden="true">
    ${ticks.map(
      ({ position, label, isMajor }) =>
        html`<i class=${isMajor ? 'tick major' : 'tick'} key=${label} style=${{ left: formatPercent(position) }}>${position > 0.94 ? '' : label}</i>`,
    )}
    <i class="now-label" key="now" style=${{ left: formatPercent(at) }}>now</i>
  </span>`;
}
