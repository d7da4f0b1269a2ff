// Options of `npm run bench`.

import { parseArgs } from 'node:util';
import type { Scale, Scenario } from './scenario.ts';

export interface BenchOptions {
  /** Names of scenarios; empty: all. */
  readonly only: readonly string[];
  readonly scale: Scale;
  /** Size; undefined for the size of the scale. */
  readonly size: number | undefined;
  /** Folder for figures and charts. */
  readonly out: string;
  readonly writeDocs: boolean;
}

/** Returns the text of `--help`. */
export function helpText(scenarios: readonly Omit<Scenario, 'run'>[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length)) + 2;
  return `npm run bench -- [options]

Measures Purser with real etcd and kube-apiserver processes; build these once with npm run kube:build.

  --only NAME,NAME     names of the scenarios to run (default: all)
  --scale small|full   size of the scenarios: small takes about 15 minutes, full uses the sizes of the goals (default: small)
  --size N             size of one scenario, instead of that of the scale
  --out DIR            folder for bench.json and the charts (default: .bench)
  --write-docs         update docs/benchmarks.md and docs/bench; scenarios that are not run keep their figures
  --help               print this text

Scenarios:
${scenarios.map(({ name, title, sizeUnit, sizes }) => `  ${name.padEnd(width)}${title} (${formatSizes(sizeUnit, sizes)})`).join('\n')}
`;
}

function formatSizes(sizeUnit: string, { small, full }: Scenario['sizes']): string {
  const number = (size: number) => size.toLocaleString('en-US');
  return `${number(small)} ${sizeUnit}${small === full ? '' : `, full: ${number(full)}`}`;
}

/** Parses the options; returns undefined for --help. Throws on unknown options and values. */
export function parseOptions(args: readonly string[], names: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      scale: { type: 'string', default: 'small' },
      size: { type: 'string' },
      out: { type: 'string', default: '.bench' },
      'write-docs': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const only = values.only.split(',').filter((name) => name !== '');
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`Unknown scenario ${unknown}. Choose from ${names.join(', ')}.`);
  if (values.scale !== 'small' && values.scale !== 'full') throw new Error('Option --scale must be small or full.');
  const { scale, out, 'write-docs': writeDocs } = values;
  return { only, scale, size: sizeOf(values.size, only, writeDocs), out, writeDocs };
}

function sizeOf(text: string | undefined, only: readonly string[], writeDocs: boolean): number | undefined {
  if (text === undefined) return undefined;
  if (only.length !== 1) throw new Error('Option --size requires one scenario. Name it with --only.');
  if (!/^[1-9]\d*$/.test(text)) throw new Error('Option --size must be a positive integer.');
  if (writeDocs) throw new Error('Option --write-docs requires the sizes of the goals. Remove --size.');
  return Number(text);
}
