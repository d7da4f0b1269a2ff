// Options of `npm run faults`.

import { parseArgs } from 'node:util';
import { type CustomFault, GRAMMAR, parseFault } from './custom-fault.ts';

export interface FaultOptions {
  readonly seed: number;
  /** Duration of the attack by hostile tenants, of the renewals and sets under faults, and of the random faults, in minutes. */
  readonly minutes: number;
  /** IDs of faults; empty: all. */
  readonly only: readonly string[];
  /** Custom faults; they replace the others. */
  readonly custom: readonly CustomFault[];
  /** Duration of custom faults, in seconds. */
  readonly seconds: number;
  readonly runs: number;
  /** Folder for the table, the history and the logs. */
  readonly out: string;
  /** Paths of history files to check instead of a run. */
  readonly check: readonly string[];
  /** True if the hostile writer of ManagedTokens may also write their status. */
  readonly writesStatus: boolean;
}

export const HELP = `npm run faults -- [options]

  --seed N        seed of all random choices (default: derived from the time)
  --minutes N     minutes of the hostile tenants' attack, of the renewals and the sets under faults and of the random faults (default: 10)
  --only F12,F13  IDs of the faults to run; tenants selects the hostile tenants, renewal the renewals, sets the ManagedTokenSets,
                  F56 the random faults
  --write-status  allow the hostile writer of ManagedTokens to write their status
  --fault WORDS   custom fault to run instead, such as 'one lose tokens'; several --fault options run at once
  --seconds N     seconds that custom faults last (default: 30)
  --runs N        runs of each fault (default: 1)
  --check FILE,…  history files of earlier runs to check again, as one table
  --out DIR       folder for the table, the history and Purser's logs (default: .faults)
  --help          print this text

${GRAMMAR}`;

/** Parses the options; returns undefined for --help. Throws on unknown options and values. */
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
  const splitList = (text: string) => text.split(',').filter((part) => part !== '');
  const [only, check] = [splitList(values.only), splitList(values.check)];
  const unknown = only.find((id) => !ids.includes(id));
  if (unknown !== undefined) throw new Error(`Unknown fault ${unknown}. Choose from ${ids.join(', ')}.`);
  return {
    seed: parseNumber('seed', values.seed),
    minutes: parseNumber('minutes', values.minutes),
    seconds: parseNumber('seconds', values.seconds),
    runs: parseNumber('runs', values.runs),
    only,
    check,
    custom: values.fault.map(parseFault),
    out: values.out,
    writesStatus: values['write-status'],
  };
}

function parseNumber(name: string, text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`Option --${name} must be a number.`);
  return Number(text);
}
