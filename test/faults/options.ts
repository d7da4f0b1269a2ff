// The options of `npm run faults`.

import { parseArgs } from 'node:util';
import { GRAMMAR, type OwnFault, parseFault } from './custom-fault.ts';

export interface FaultOptions {
  readonly seed: number;
  /** Length of the attack by hostile tenants, and of the random schedule after the matrix. */
  readonly minutes: number;
  /** Numbers of faults; empty is all. */
  readonly only: readonly string[];
  /** Faults of one's own, instead of the matrix. */
  readonly own: readonly OwnFault[];
  /** How long they last. */
  readonly seconds: number;
  readonly runs: number;
  /** Where table and history go. */
  readonly out: string;
  /** Histories to be checked again, instead of a run. */
  readonly check: readonly string[];
  /** Whether the hostile writer of ManagedTokens may write their status, too. */
  readonly writesStatus: boolean;
}

export const HELP = `npm run faults -- [options]

  --seed N        of everything that is drawn by chance (default: the time)
  --minutes N     length of the hostile tenants' attack and of the random schedule (default: 10)
  --only F12,F13  these faults alone; tenants is the bench of hostile tenants, F56 the random schedule
  --write-status  let the hostile writer of ManagedTokens write their status, too
  --fault WORDS   a fault of your own instead, such as 'one lose tokens'; all that are given happen at once
  --seconds N     how long it lasts (default: 30)
  --runs N        how often each fault is run (default: 1)
  --check FILE,…  checks histories of earlier runs again, and makes one table of them
  --out DIR       where the table, the history and Purser's logs go (default: .faults)

${GRAMMAR}`;

/** Reads the options; undefined when help was asked for. Throws for what it does not know. */
export function parseOptions(args: readonly string[], ids: readonly string[]): FaultOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      minutes: { type: 'string', default: '10' },
      only: { type: 'string', default: '' },
      fault: { type: 'string', multiple: true, default: [] },
      seconds: { type: 'string', default: '30' },
      runs: { type: 'string', default: '1' },
      out: { type: 'string', default: '.faults' },
      check: { type: 'string', default: '' },
      'write-status': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const listed = (text: string) => text.split(',').filter((part) => part !== '');
  const [only, check] = [listed(values.only), listed(values.check)];
  const unknown = only.find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new Error(`there is no fault ${unknown}; there are ${ids.join(', ')}`);
  return {
    seed: numberOf('seed', values.seed),
    minutes: numberOf('minutes', values.minutes),
    seconds: numberOf('seconds', values.seconds),
    runs: numberOf('runs', values.runs),
    only,
    check,
    own: values.fault.map(parseFault),
    out: values.out,
    writesStatus: values['write-status'],
  };
}

function numberOf(name: string, text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`--${name} is a number`);
  return Number(text);
}
