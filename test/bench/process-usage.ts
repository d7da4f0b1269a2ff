// CPU time and memory of a process, from the kernel.

import { readdir, readFile } from 'node:fs/promises';

/** CPU time between two measurements, and memory. */
export interface Usage extends Memory {
  /** Percentage of one core. */
  readonly cpuPercent: number;
}

/** Memory in units of a million bytes. */
export interface Memory {
  readonly rssMegabytes: number;
  /** Maximum since the process started. */
  readonly peakRssMegabytes: number;
}

/** Starts a measurement; returns a function that ends it. */
export async function measureUsage(pid: number): Promise<() => Promise<Usage>> {
  const [startedAt, before] = [performance.now(), await cpuSeconds(pid)];
  return async () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    return { cpuPercent: round(((await cpuSeconds(pid)) - before) * (100 / seconds)), ...(await memoryOf(pid)) };
  };
}

/** Returns the current and the maximum resident memory. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { rssMegabytes: megabytes(status, 'VmRSS'), peakRssMegabytes: megabytes(status, 'VmHWM') };
}

/** Rounds to two decimals. */
export function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** USER_HZ, which is 100 on all Linux platforms. */
const TICKS_PER_SECOND = 100;

/** Returns the CPU time of all threads, in user and kernel mode. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The program's name, in parentheses, may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Finds the process with a given argument. */
export async function pidOf(argument: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.split('\0').includes(argument)) return Number(pid);
  }
  throw new Error(`No process has the argument ${argument}.`);
}

function megabytes(status: string, field: string): number {
  return round((Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) * 1_024) / 1_000_000);
}
