// Benches that are separate programs and print their figures as JSON.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/** Runs a program of this folder, and parses the JSON that it prints. Its stderr is inherited. */
export async function runScript<T>(name: string, args: readonly number[]): Promise<T> {
  const path = join(import.meta.dirname, name);
  const child = spawn(process.execPath, [path, ...args.map(String)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [[code], output] = await Promise.all([once(child, 'close'), text(child.stdout)]);
  if (code !== 0) throw new Error(`${name} exited with code ${code}`);
  return JSON.parse(output) as T;
}
