import { describe, expect, it } from '@jest/globals';
import { barChart } from './chart.ts';
import { type PastRun, regressionsOf, withRuns } from './history.ts';
import { helpText, parseOptions } from './options.ts';
import { type Run, renderPage } from './page.ts';
import { atLeast, atMost, type Figure, isMet } from './scenario.ts';
import { parseTimes } from './stolen-time.ts';
import { formatValue, markdownTable, textTable } from './table.ts';

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

describe('isMet', () => {
  it.each([
    [atMost(1), 1, true],
    [atMost(1), 1.01, false],
    [atLeast(90), 90, true],
    [atLeast(90), 89.9, false],
    [atMost(1), Number.NaN, false],
  ])('compares goal %j with %d: %s', (goal, value, met) => {
    expect(isMet({ name: '', value, unit: '', goal })).toBe(met);
  });

  it('returns undefined for figures without a goal', () => {
    expect(isMet({ name: '', value: 1, unit: '' })).toBeUndefined();
  });
});

describe('textTable, markdownTable and formatValue', () => {
  it('shows each goal and its result next to the measurement', () => {
    expect(textTable(FIGURES)).toBe(
      [
        'figure                 measured  goal     ok',
        'CPU of kube-apiserver  0.025 ×   ≤ 0.1 ×  yes',
        'throughput             82.4 %    ≥ 90 %   NO',
        'CPU a|b                1.5 ms',
      ].join('\n'),
    );
  });

  it('renders figures as Markdown', () => {
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
  ])('formats %d %s as %s', (value, unit, text) => {
    expect(formatValue(value, unit)).toBe(text);
  });
});

describe('barChart', () => {
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

  it('renders a chart without positive values', () => {
    expect(barChart({ name: 'x', title: '', unit: '', bars: [{ label: 'nothing', value: 0 }] })).toContain('width="1.0"');
  });
});

describe('renderPage', () => {
  it('lists goals that were not met, and scenarios that did not run', () => {
    const page = renderPage([RUN], [TOKENS, { name: 'growth', title: 'Growth' }]);
    expect(page).toContain('- Tokens: throughput');
    expect(page).toContain('Not run: Growth.');
    expect(page).toContain('\n\nTokens are signed with RSA.\n\n![CPU]');
    expect(page).toContain('`npm run bench -- --only tokens --scale small` · 2026-11-15 06:00 · 2 cores · load before 1.5 · 3 min');
    expect(page).toContain('![CPU](bench/cpu.svg)');
  });

  it('shows the CPU time that the host gave to other machines', () => {
    expect(renderPage([{ ...RUN, stolenPercent: 26.6 }], [TOKENS])).toContain(
      'load before 1.5 · 27% of CPU time stolen by the host · 3 min',
    );
  });

  it('reports that all goals were met', () => {
    expect(renderPage([{ ...RUN, figures: FIGURES.slice(0, 1) }], [TOKENS])).toContain('All goals were met');
  });
});

describe('history', () => {
  const past = (date: string, values: PastRun['values'], scale: PastRun['scale'] = 'small'): PastRun => ({
    name: 'tokens',
    scale,
    date,
    values,
  });

  it.each([
    ['a higher ratio of CPU', { 'CPU of kube-apiserver': 0.021 }, ['Tokens: CPU of kube-apiserver']],
    ['a slightly higher ratio', { 'CPU of kube-apiserver': 0.022 }, []],
    ['a lower throughput', { throughput: 96 }, ['Tokens: throughput']],
    ['a higher throughput', { throughput: 50 }, []],
    ['a figure without a goal', { 'CPU a|b': 0.1 }, []],
    ['no figure of that name', { other: 1 }, []],
  ])('compares a run with the previous run: %s', (_case, values, names) => {
    expect(regressionsOf(RUN, [past('2026-11-14 06:00', values)]).map(({ name }) => name)).toEqual(names);
  });

  it('compares with the latest earlier run of the same scale', () => {
    const better = { throughput: 99 };
    const history = [
      past('2026-11-14 06:00', { throughput: 80 }),
      past('2026-11-13 06:00', better),
      past('2026-11-14 07:00', better, 'full'),
    ];
    expect(regressionsOf(RUN, [...history, past('2026-11-16 06:00', better)])).toEqual([]);
    expect(regressionsOf(RUN, history.slice(1))).toEqual([
      { name: 'Tokens: throughput', percent: expect.closeTo(20.1, 1), since: '2026-11-13 06:00' },
    ]);
  });

  it('keeps the latest 20 runs of a scenario, each once', () => {
    const runs = Array.from({ length: 22 }, (_, index) => ({ ...RUN, date: `2026-11-15 06:${10 + index}` }));
    const history = withRuns(withRuns([past('2026-11-14 06:00', {}, 'full')], runs.slice(0, 15)), runs.slice(10));
    expect(history.filter(({ scale }) => scale === 'small').map(({ date }) => date)).toEqual(runs.slice(2).map(({ date }) => date));
    expect(history.filter(({ scale }) => scale === 'full')).toHaveLength(1);
    expect(history.at(-1)?.values).toEqual({ 'CPU of kube-apiserver': 0.025, throughput: 82.4, 'CPU a|b': 1.5 });
  });

  it('shows regressions on the page', () => {
    expect(renderPage([RUN], [TOKENS], [past('2026-11-14 06:00', { throughput: 99 })])).toContain(
      '\n- Tokens: throughput: worse by 20% since 2026-11-14 06:00\n',
    );
  });
});

describe('parseTimes', () => {
  it('counts the CPU time of guests once', () => {
    const stat = 'cpu  10 20 30 40 5 6 7 8 9 1\ncpu0 10 20 30 40 5 6 7 8 9 1\n';
    expect(parseTimes(stat)).toEqual({ total: 126, stolen: 8 });
  });
});

describe('parseOptions', () => {
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
    [['--only', 'x'], 'Unknown scenario x. Choose from a.'],
    [['--size', '50'], 'Option --size requires one scenario. Name it with --only.'],
    [['--only', 'a', '--size', '0'], 'Option --size must be a positive integer.'],
    [['--only', 'a', '--size', 'ten'], 'Option --size must be a positive integer.'],
    [['--only', 'a', '--size', '50', '--write-docs'], 'Option --write-docs requires the sizes of the goals. Remove --size.'],
    [['--scale', 'huge'], 'Option --scale must be small or full.'],
    [['--what'], 'Unknown option'],
  ])('rejects %j', (args, message) => {
    expect(() => parseOptions(args, ['a'])).toThrow(message);
  });

  it('returns undefined for --help, and lists scenarios with their sizes', () => {
    expect(parseOptions(['--help'], ['a'])).toBeUndefined();
    const growth = { name: 'growth', title: 'Growth', sizeUnit: 'clusters', sizes: { small: 250, full: 1_000 } };
    expect(helpText([growth])).toContain('growth  Growth (250 clusters, full: 1,000)');
  });
});
