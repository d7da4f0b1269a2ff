// CPU time that the host of a virtual machine gave to others while this machine needed it.

import { readFile } from 'node:fs/promises';

/** Starts a measurement; returns a function that ends it, with the percentage of the CPU time of all cores. */
export async function measureStolenTime(): Promise<() => Promise<number>> {
  const before = parseTimes(await readFile('/proc/stat', 'utf8'));
  return async () => {
    const { total, stolen } = parseTimes(await readFile('/proc/stat', 'utf8'));
    return total === before.total ? 0 : ((stolen - before.stolen) / (total - before.total)) * 100;
  };
}

/** Parses the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq and steal time. User time includes that of guests. */
export function parseTimes(text: string): { readonly total: number; readonly stolen: number } {
  const [, ...times] = text.slice(0, text.indexOf('\n')).split(/\s+/);
  const counted = times.slice(0, 8).map(Number);
  return { total: counted.reduce((sum, each) => sum + each, 0), stolen: counted[7] ?? 0 };
}
