// What a process takes of its machine, as the kernel counts it.

import { readdir, readFile } from 'node:fs/promises';

/** What a process took between two readings. */
export interface Usage extends Memory {
  /** Of one core. */
  readonly cpuPercent: number;
}

/** In units of a million bytes. */
export interface Memory {
  readonly rssMegabytes: number;
  /** Since the process began. */
  readonly peakRssMegabytes: number;
}

/** Starts to count; the function tells what the process took since. */
export async function measureUsage(pid: number): Promise<() => Promise<Usage>> {
  const [startedAt, before] = [performance.now(), await cpuSeconds(pid)];
  return async () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    return { cpuPercent: rounded(((await cpuSeconds(pid)) - before) * (100 / seconds)), ...(await memoryOf(pid)) };
  };
}

/** What a process holds now, and the most it ever held. */
export async function memoryOf(pid: number): Promise<Memory> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return { rssMegabytes: megabytes(status, 'VmRSS'), peakRssMegabytes: megabytes(status, 'VmHWM') };
}

/** Two digits are as much as can be believed. */
export function rounded(value: number): number {
  return Math.round(value * 100) / 100;
}

/** The kernel's unit; it has been the same everywhere for decades. */
const TICKS_PER_SECOND = 100;

/** Time of all threads, in our code and in the kernel. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name of the program, in parentheses, may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** The process that was started with this argument. */
export async function pidOf(argument: string): Promise<number> {
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (line.split('\0').includes(argument)) return Number(pid);
  }
  throw new Error(`no process with ${argument}`);
}

function megabytes(status: string, field: string): number {
  return rounded((Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) * 1_024) / 1_000_000);
}
