import { describe, expect, it } from '@jest/globals';
import { barChart } from './chart.ts';
import { helpText, parseOptions } from './options.ts';
import { pageOf, type Run } from './page.ts';
import { atLeast, atMost, type Figure, isMet } from './scenario.ts';
import { markdownTable, textTable, valueText } from './table.ts';

const FIGURES: readonly Figure[] = [
  { name: 'CPU of kube-apiserver', value: 0.025, unit: '×', goal: atMost(0.1) },
  { name: 'throughput', value: 82.4, unit: '%', goal: atLeast(90) },
  { name: 'CPU a|b', value: 1.5, unit: 'ms' },
];

const RUN: Run = {
  name: 'tokens',
  title: 'Tokens',
  scale: 'small',
  date: '2026-11-15 06:00',
  machine: '2 cores',
  minutes: 3,
  load: 1.5,
  figures: FIGURES,
  charts: [{ name: 'cpu', title: 'CPU', unit: 'ms', bars: [{ label: 'Purser', value: 1 }] }],
  measured: {},
};

const TOKENS = { name: 'tokens', title: 'Tokens', note: 'Tokens are signed with RSA.' };

describe('goals', () => {
  it.each([
    [atMost(1), 1, true],
    [atMost(1), 1.01, false],
    [atLeast(90), 90, true],
    [atLeast(90), 89.9, false],
    [atMost(1), Number.NaN, false],
  ])('of %j are kept by %d: %s', (goal, value, met) => {
    expect(isMet({ name: '', value, unit: '', goal })).toBe(met);
  });

  it('skips figures without a goal', () => {
    expect(isMet({ name: '', value: 1, unit: '' })).toBeUndefined();
  });
});

describe('table', () => {
  it('shows each goal and its result beside the measurement', () => {
    expect(textTable(FIGURES)).toBe(
      [
        'figure                 measured  goal     ok',
        'CPU of kube-apiserver  0.025 ×   ≤ 0.1 ×  yes',
        'throughput             82.4 %    ≥ 90 %   NO',
        'CPU a|b                1.5 ms',
      ].join('\n'),
    );
  });

  it('renders Markdown on request', () => {
    expect(markdownTable(FIGURES).split('\n').slice(2)).toEqual([
      '| CPU of kube-apiserver | 0.025 × | ≤ 0.1 × | yes |',
      '| throughput | 82.4 % | ≥ 90 % | NO |',
      '| CPU a\\|b | 1.5 ms |  |  |',
    ]);
  });

  it.each([
    [12_345.6, 'ms', '12,346 ms'],
    [12.34, 's', '12.3 s'],
    [1.234, '×', '1.23 ×'],
    [0.0333, '×', '0.033 ×'],
    [0, '', '0'],
  ])('shows %d %s as %s', (value, unit, text) => {
    expect(valueText(value, unit)).toBe(text);
  });
});

describe('chart', () => {
  it('draws one bar per value, the longest for the largest value', () => {
    const svg = barChart({
      name: 'x',
      title: 'a < b',
      unit: 'ms',
      bars: [
        { label: 'Purser', value: 1 },
        { label: 'other', value: 4 },
      ],
    });
    const widths = [...svg.matchAll(/<rect[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width));
    expect(widths).toEqual([75, 300]);
    expect(svg).toContain('a &lt; b');
    expect(svg).toContain('4 ms');
  });

  it('renders a chart without values', () => {
    expect(barChart({ name: 'x', title: '', unit: '', bars: [{ label: 'nothing', value: 0 }] })).toContain('width="1.0"');
  });
});

describe('page', () => {
  it('lists missed goals and scenarios that did not run', () => {
    const page = pageOf([RUN], [TOKENS, { name: 'growth', title: 'Growth' }]);
    expect(page).toContain('- Tokens: throughput');
    expect(page).toContain('Not run: Growth.');
    expect(page).toContain('\n\nTokens are signed with RSA.\n\n![CPU]');
    expect(page).toContain('`npm run bench -- --only tokens --scale small` · 2026-11-15 06:00 · 2 cores · load before 1.5 · 3 min');
    expect(page).toContain('![CPU](bench/cpu.svg)');
  });

  it('states that all goals were reached', () => {
    expect(pageOf([{ ...RUN, figures: FIGURES.slice(0, 1) }], [TOKENS])).toContain('All goals were met');
  });
});

describe('options', () => {
  it('selects scenarios and their scale', () => {
    expect(parseOptions(['--only', 'a,b', '--scale', 'full'], ['a', 'b', 'c'])).toEqual({
      only: ['a', 'b'],
      scale: 'full',
      size: undefined,
      out: '.bench',
      writeDocs: false,
    });
  });

  it('sets the size of one scenario', () => {
    expect(parseOptions(['--only', 'a', '--size', '50'], ['a'])).toMatchObject({ only: ['a'], scale: 'small', size: 50 });
  });

  it.each([
    [['--only', 'x'], 'there is no scenario x'],
    [['--size', '50'], '--size is for one scenario'],
    [['--only', 'a', '--size', '0'], '--size is a number, at least 1'],
    [['--only', 'a', '--size', 'ten'], '--size is a number, at least 1'],
    [['--only', 'a', '--size', '50', '--write-docs'], 'the docs show the sizes of the goals'],
    [['--scale', 'huge'], '--scale is small or full'],
    [['--what'], 'Unknown option'],
  ])('%j are refused', (args, message) => {
    expect(() => parseOptions(args, ['a'])).toThrow(message);
  });

  it('prints help on request', () => {
    expect(parseOptions(['--help'], ['a'])).toBeUndefined();
    const growth = { name: 'growth', title: 'Growth', what: 'clusters', sizes: { small: 250, full: 1_000 } };
    expect(helpText([growth])).toContain('growth  Growth (250 clusters, full: 1,000)');
  });
});
