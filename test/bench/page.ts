// docs/benchmarks.md, made from what was measured.

import { isMet, type Outcome, type Scale, type Scenario } from './scenario.ts';
import { markdownTable } from './table.ts';

/** A scenario that was run, with everything that one has to know to run it again. */
export interface Run extends Outcome {
  readonly name: string;
  readonly title: string;
  readonly scale: Scale;
  readonly date: string;
  readonly machine: string;
  readonly minutes: number;
  /** How many processes wanted to run before it began. */
  readonly load: number;
}

/** What is told of a scenario beside its figures. */
export type Told = Pick<Scenario, 'name' | 'title' | 'note'>;

/** The page of these runs, of all `scenarios` that there are. */
export function pageOf(runs: readonly Run[], scenarios: readonly Told[]): string {
  const missing = scenarios.filter(({ name }) => !runs.some((run) => run.name === name));
  const noteOf = (run: Run) => scenarios.find(({ name }) => name === run.name)?.note;
  const missed = runs.flatMap(({ title, figures }) =>
    figures.filter((figure) => isMet(figure) === false).map(({ name }) => `${title}: ${name}`),
  );
  return `# Benchmarks

Made by \`npm run bench -- --write-docs\`; do not edit. Each scenario runs real etcd and kube-apiserver processes, clients and
Purser on one machine, and compares what they took in the same run: processor time and memory as the kernel counts them,
requests as the audit logs tell them. Ratios carry over to other machines, absolute values do not. Where the load before a run
is above the number of cores, others were using the machine: that raises processor time, too, and wall time tells little.

${missed.length === 0 ? 'Every goal was reached in these runs.' : `Not reached in these runs:\n\n${missed.map((each) => `- ${each}`).join('\n')}`}
${missing.length === 0 ? '' : `\nNot run: ${missing.map(({ title }) => title).join('; ')}.\n`}
${runs.map((run) => sectionOf(run, noteOf(run))).join('\n')}`;
}

function sectionOf({ name, title, scale, date, machine, minutes, load, figures, charts }: Run, note: string | undefined): string {
  const images = charts.map((chart) => `![${chart.title}](bench/${chart.name}.svg)`).join('\n\n');
  return `## ${title}

\`npm run bench -- --only ${name} --scale ${scale}\` · ${date} · ${machine} · load before ${load.toFixed(1)} · ${minutes} min

${markdownTable(figures)}
${note === undefined ? '' : `\n${note}\n`}${images === '' ? '' : `\n${images}\n`}`;
}
