// The options of `npm run faults`.

import { parseArgs } from 'node:util';

export interface FaultOptions {
  readonly seed: number;
  /** How long faults are drawn by chance after the matrix. */
  readonly minutes: number;
  /** Numbers of faults; empty is all. */
  readonly only: readonly string[];
  readonly runs: number;
  /** Where table and history go. */
  readonly out: string;
  /** Histories to be checked again, instead of a run. */
  readonly check: readonly string[];
}

export const HELP = `npm run faults -- [options]

  --seed N        of everything that is drawn by chance (default: the time)
  --minutes N     how long faults are drawn by chance after the matrix (default: 10)
  --only F12,F13  these faults alone; F56 is the random schedule
  --runs N        how often each fault is run (default: 1)
  --check FILE,…  checks histories of earlier runs again, and makes one table of them
  --out DIR       where the table, the history and Purser's logs go (default: .faults)
`;

/** Reads the options; undefined when help was asked for. */
export function parseOptions(args: readonly string[]): FaultOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      minutes: { type: 'string', default: '10' },
      only: { type: 'string', default: '' },
      runs: { type: 'string', default: '1' },
      out: { type: 'string', default: '.faults' },
      check: { type: 'string', default: '' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const listed = (text: string) => text.split(',').filter((part) => part !== '');
  const lists = { only: listed(values.only), check: listed(values.check) };
  return { seed: Number(values.seed), minutes: Number(values.minutes), runs: Number(values.runs), ...lists, out: values.out };
}
