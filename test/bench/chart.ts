// Bar charts as SVG, for light and dark pages.

import type { Chart } from './scenario.ts';
import { formatValue } from './table.ts';

const WIDTH = 640;
const LABEL_WIDTH = 230;
const VALUE_WIDTH = 110;
const ROW = 30;
const BAR = 18;
const TOP = 44;

/** Renders a chart with one horizontal bar for each value. */
export function barChart({ title, unit, bars }: Chart): string {
  const most = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE);
  const space = WIDTH - LABEL_WIDTH - VALUE_WIDTH;
  const rows = bars.map(({ label, value }, index) => {
    const y = TOP + index * ROW;
    const length = Math.max(1, (Math.max(0, value) / most) * space);
    const middle = y + BAR / 2 + 4;
    return [
      `<text x="${LABEL_WIDTH - 8}" y="${middle}" text-anchor="end">${escapeXml(label)}</text>`,
      `<rect x="${LABEL_WIDTH}" y="${y}" width="${length.toFixed(1)}" height="${BAR}" rx="2" fill="${index === 0 ? '#2f81f7' : '#8b949e'}"/>`,
      `<text x="${(LABEL_WIDTH + length + 6).toFixed(1)}" y="${middle}">${escapeXml(formatValue(value, unit))}</text>`,
    ].join('\n');
  });
  const height = TOP + bars.length * ROW + 6;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escapeXml(title)}">
<style>text{font:13px system-ui,sans-serif;fill:#57606a}.title{font-weight:600}@media(prefers-color-scheme:dark){text{fill:#c9d1d9}}</style>
<text class="title" x="12" y="24">${escapeXml(title)}</text>
${rows.join('\n')}
</svg>
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
