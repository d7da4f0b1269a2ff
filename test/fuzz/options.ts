// Options of `npm run test:fuzz`.

import { parseArgs } from 'node:util';

export interface FuzzOptions {
  readonly seed: number;
  /** Number of requests. */
  readonly requests: number;
  /** Number of the only request to send; undefined for all. */
  readonly only: number | undefined;
  /** Number of differences after which the run ends. */
  readonly failures: number;
}

export const HELP = `npm run test:fuzz -- [options]

Sends random requests to the façade and to a real kube-apiserver, and compares the responses. Differences that
docs/facade-differences.md does not document are failures.

  --seed N      seed of all requests (default: random, and printed)
  --requests N  number of requests (default: 4000)
  --only N      send only request number N of the seed
  --failures N  differences after which the run ends (default: 3)
  --help        print this text`;

/** Parses the options; returns undefined for --help. Throws on unknown options and values. */
export function parseOptions(args: readonly string[], random: () => number): FuzzOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: 'string', default: String(Math.floor(random() * 1_000_000)) },
      requests: { type: 'string', default: '4000' },
      only: { type: 'string' },
      failures: { type: 'string', default: '3' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  return {
    seed: parseNumber('seed', values.seed, 0),
    requests: parseNumber('requests', values.requests, 1),
    only: values.only === undefined ? undefined : parseNumber('only', values.only, 1),
    failures: parseNumber('failures', values.failures, 1),
  };
}

function parseNumber(name: string, text: string, min: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < min) throw new Error(`Option --${name} must be a number from ${min}.`);
  return Number(text);
}
