// A bench that is a program of its own and prints its figures as JSON.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Runs a program of this folder, and returns what it printed. What it says on the way goes to our own errors. */
export async function runScript<T>(name: string, args: readonly number[]): Promise<T> {
  const path = join(import.meta.dirname, name);
  const child = spawn(process.execPath, [path, ...args.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [[code], output] = await Promise.all([once(child, 'close'), text(child.stdout)]);
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  return JSON.parse(output) as T;
}
