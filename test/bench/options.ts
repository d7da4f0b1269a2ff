// The options of `npm run bench`.

import { parseArgs } from 'node:util';
import type { Scale, Scenario } from './scenario.ts';

export interface BenchOptions {
  /** Names of scenarios; empty is all. */
  readonly only: readonly string[];
  readonly scale: Scale;
  /** Another size than that of the scale. */
  readonly size: number | undefined;
  /** Where figures and charts go. */
  readonly out: string;
  readonly writeDocs: boolean;
}

/** What `--help` shows. */
export function helpText(scenarios: readonly Omit<Scenario, 'run'>[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length)) + 2;
  return `npm run bench -- [options]

Measures Purser beside real etcd and kube-apiserver processes (npm run kube:build makes them, once).

  --only NAME,NAME     these scenarios alone
  --scale small|full   small takes about a quarter of an hour, full has the sizes of the goals (default: small)
  --size N             another size, for one scenario
  --out DIR            where bench.json and the charts go (default: .bench)
  --write-docs         also refreshes docs/benchmarks.md and docs/bench; what was not run keeps its figures
  --help

Scenarios:
${scenarios.map(({ name, title, what, sizes }) => `  ${name.padEnd(width)}${title} (${sizesText(what, sizes)})`).join('\n')}
`;
}

function sizesText(what: string, { small, full }: Scenario['sizes']): string {
  const number = (size: number) => size.toLocaleString('en-US');
  return `${number(small)} ${what}${small === full ? '' : `, full: ${number(full)}`}`;
}

/** Reads the options; undefined when help was asked for. Throws for what it does not know. */
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
  if (unknown !== undefined) throw new Error(`there is no scenario ${unknown}; there are ${names.join(', ')}`);
  if (values.scale !== 'small' && values.scale !== 'full') throw new Error('--scale is small or full');
  const { scale, out, 'write-docs': writeDocs } = values;
  return { only, scale, size: sizeOf(values.size, only, writeDocs), out, writeDocs };
}

function sizeOf(text: string | undefined, only: readonly string[], writeDocs: boolean): number | undefined {
  if (text === undefined) return undefined;
  if (only.length !== 1) throw new Error('--size is for one scenario, which --only names');
  if (!/^[1-9]\d*$/.test(text)) throw new Error('--size is a number, at least 1');
  if (writeDocs) throw new Error('the docs show the sizes of the goals: --write-docs goes without --size');
  return Number(text);
}
