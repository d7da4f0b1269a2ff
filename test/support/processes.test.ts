import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../contract/eventually.ts';
import { startProgram } from './processes.ts';

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'purser-processes-'));
});

afterAll(() => rm(folder, { recursive: true }));

describe('startProgram', () => {
  it('writes the output of the program to its log file', async () => {
    const program = await startProgram('/bin/sh', ['-c', 'echo out; echo err >&2'], join(folder, 'prints.log'));
    await program.ended;
    expect(program.isRunning()).toBe(false);
    expect(await program.output()).toBe('out\nerr\n');
  });

  it.each([
    ['a program that handles SIGTERM', 'exec sleep 600'],
    ['a program that ignores SIGTERM', "trap '' TERM; exec sleep 600"],
  ])('stops %s', async (_, script) => {
    const program = await startProgram('/bin/sh', ['-c', script], join(folder, 'stops.log'));
    await program.stop(50);
    expect(isAlive(program.pid)).toBe(false);
  });

  it('stops a paused program', async () => {
    const program = await startProgram('/bin/sleep', ['600'], join(folder, 'paused.log'));
    program.signal('SIGSTOP');
    await program.stop();
    expect(isAlive(program.pid)).toBe(false);
  });

  it('rejects a program that does not exist', async () => {
    await expect(startProgram(join(folder, 'nothing'), [], join(folder, 'missing.log'))).rejects.toThrow('ENOENT');
  });

  it.each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)('ends the program if its parent receives %s', async (signal) => {
    const parent = `
      import { startProgram } from ${JSON.stringify(join(import.meta.dirname, 'processes.ts'))};
      const program = await startProgram('/bin/sleep', ['600'], ${JSON.stringify(join(folder, 'orphan.log'))});
      console.log(program.pid);
      setInterval(() => undefined, 1_000);
    `;
    const runner = spawn(process.execPath, ['--input-type=module', '--eval', parent], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface({ input: runner.stdout }), 'line')) as [string];
    expect(isAlive(Number(line))).toBe(true);
    runner.kill(signal);
    await eventually(async () => expect(isAlive(Number(line))).toBe(false));
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
