// Tables of figures, for terminals and Markdown.

import { type Figure, type Goal, isMet } from './scenario.ts';

const HEADINGS = ['figure', 'measured', 'goal', 'ok'] as const;

/** Formats a table for a terminal, with aligned columns. */
export function textTable(figures: readonly Figure[]): string {
  const rows = [HEADINGS, ...figures.map(formatCells)];
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Formats a Markdown table. */
export function markdownTable(figures: readonly Figure[]): string {
  const line = (texts: readonly string[]) => `| ${texts.map((text) => text.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(HEADINGS), '|---|---|---|---|', ...figures.map((figure) => line(formatCells(figure)))].join('\n');
}

/** Formats a value with its unit and its significant digits. */
export function formatValue(value: number, unit: string): string {
  const size = Math.abs(value);
  const digits = [100, 10, 0.1].findIndex((bound) => size >= bound);
  return `${value.toLocaleString('en-US', { maximumFractionDigits: digits === -1 ? 3 : digits })} ${unit}`.trimEnd();
}

function formatCells(figure: Figure): readonly string[] {
  const { name, value, unit, goal } = figure;
  const met = isMet(figure);
  return [name, formatValue(value, unit), goal === undefined ? '' : formatGoal(goal, unit), met === undefined ? '' : met ? 'yes' : 'NO'];
}

function formatGoal({ bound, value }: Goal, unit: string): string {
  return `${bound === 'at most' ? '≤' : '≥'} ${formatValue(value, unit)}`;
}
