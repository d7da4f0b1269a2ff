// Programs that run to completion.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface RunResult {
  readonly code: number | null;
  readonly output: string;
  readonly stderr: string;
}

/** Runs a program with additional environment variables, and returns its exit code and output. */
export async function run(path: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<RunResult> {
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env } });
  const [[code], output, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)]);
  return { code: code as number | null, output, stderr };
}
