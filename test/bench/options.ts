// The options of `npm run bench`.

import { parseArgs } from 'node:util';
import type { Scale } from './scenario.ts';

export interface BenchOptions {
  /** Names of scenarios; empty is all. */
  readonly only: readonly string[];
  readonly scale: Scale;
  /** Where figures and charts go. */
  readonly out: string;
  readonly writeDocs: boolean;
}

/** What `--help` shows. */
export function helpText(scenarios: readonly { readonly name: string; readonly title: string }[]): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length)) + 2;
  return `npm run bench -- [options]

Measures Purser beside real etcd and kube-apiserver processes (npm run kube:build makes them, once).

  --only NAME,NAME     these scenarios alone
  --scale small|full   small takes about a quarter of an hour, full has the sizes of the goals (default: small)
  --out DIR            where bench.json and the charts go (default: .bench)
  --write-docs         also refreshes docs/benchmarks.md and docs/bench; what was not run keeps its figures
  --help

Scenarios:
${scenarios.map(({ name, title }) => `  ${name.padEnd(width)}${title}`).join('\n')}
`;
}

/** Reads the options; undefined when help was asked for. Throws for what it does not know. */
export function parseOptions(args: readonly string[], names: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string', default: '' },
      scale: { type: 'string', default: 'small' },
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
  return { only, scale: values.scale, out: values.out, writeDocs: values['write-docs'] };
}
