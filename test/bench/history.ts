// Figures of earlier runs, which show when a ratio gets worse.

import type { Run } from './page.ts';
import type { Figure } from './scenario.ts';

/** The figures of one run. */
export interface PastRun extends Pick<Run, 'name' | 'scale' | 'date'> {
  /** Values by figure name. */
  readonly values: Readonly<Record<string, number>>;
}

/** A ratio that is worse than in the run before. */
export interface Regression {
  /** Title of the scenario, and name of the figure. */
  readonly name: string;
  readonly percent: number;
  /** Date of the run before. */
  readonly since: string;
}

/** Number of runs of a scenario that are kept. */
const MAX_RUNS = 20;
/** Change of a ratio that is reported: repeated runs on a quiet machine differ by less. */
const MIN_PERCENT = 15;

/** Returns the history with these runs. A run replaces an earlier one with the same time. */
export function withRuns(history: readonly PastRun[], runs: readonly Run[]): readonly PastRun[] {
  const added = runs.map(({ name, scale, date, figures }) => ({
    name,
    scale,
    date,
    values: Object.fromEntries(figures.map((figure) => [figure.name, figure.value])),
  }));
  const keyOf = ({ name, scale, date }: Pick<PastRun, 'name' | 'scale' | 'date'>) => `${name} ${scale} ${date}`;
  const all = [...new Map([...history, ...added].map((run) => [keyOf(run), run])).values()];
  const groups = Map.groupBy(all, ({ name, scale }) => `${name} ${scale}`);
  return [...groups.values()].flatMap((group) => group.toSorted(byDate).slice(-MAX_RUNS));
}

/** Returns the ratios of a run that are worse than in the run of the same scale before. */
export function regressionsOf(run: Run, history: readonly PastRun[]): readonly Regression[] {
  const earlier = history.filter(({ name, scale, date }) => name === run.name && scale === run.scale && date < run.date).toSorted(byDate);
  return run.figures.flatMap((figure) => {
    const before = earlier.findLast(({ values }) => values[figure.name] !== undefined);
    const percent = before === undefined ? 0 : worsePercent(figure, before.values[figure.name] as number);
    return percent > MIN_PERCENT ? [{ name: `${run.title}: ${figure.name}`, percent, since: before?.date ?? '' }] : [];
  });
}

/** Returns the text of a regression. */
export function regressionText({ name, percent, since }: Regression): string {
  return `${name}: worse by ${Math.round(percent)}% since ${since}`;
}

/** Returns by how much a ratio with a goal is worse than before, as a percentage; 0 for other figures, which depend on the machine. */
function worsePercent({ value, unit, goal }: Figure, before: number): number {
  if (goal === undefined || (unit !== '×' && unit !== '%') || before === 0) return 0;
  const ratio = goal.bound === 'at most' ? value / before : before / value;
  return (ratio - 1) * 100;
}

function byDate(a: PastRun, b: PastRun): number {
  return a.date < b.date ? -1 : Number(a.date > b.date);
}
