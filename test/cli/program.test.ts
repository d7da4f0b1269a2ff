import { describe, expect, it } from '@jest/globals';
import { type RunningProgram, runProgram } from '../../src/cli/program.ts';
import { StartError } from '../../src/config/start-error.ts';
import { FakeClock } from '../support/clock.ts';
import { run as runToEnd } from '../support/run.ts';
import { FakeProcess } from './fake-process.ts';

function run(start: (stopped: AbortSignal) => Promise<RunningProgram | undefined>) {
  const host = new FakeProcess();
  const clock = new FakeClock();
  return { host, clock, ended: runProgram({ host, clock, stopMs: 1_800 }, start) };
}

const TOKEN = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl';

function sourceUrl(name: string): string {
  return new URL(`../../src/${name}.ts`, import.meta.url).href;
}

const never = new Promise<void>(() => {});

describe('runProgram', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('stops on %s and exits with 0', async (signal) => {
    const events: string[] = [];
    const { host, ended } = run(async () => ({ stop: async () => void events.push('stopped') }));
    host.send(signal);
    await ended;

    expect(events).toEqual(['stopped']);
    expect(host.exits).toEqual([0]);
  });

  it('prints a StartError on one line and exits with 2', async () => {
    const { host, ended } = run(() => Promise.reject(new StartError('port 1 is taken')));
    await ended;

    expect(host.text).toBe('purser: port 1 is taken\n');
    expect(host.exits).toEqual([2]);
  });

  it('exits with 1 for any other error', async () => {
    const { host, ended } = run(() => Promise.reject(new TypeError('a defect')));
    await ended;

    expect(host.text).toMatch(/^purser: TypeError: a defect\n +at /);
    expect(host.exits).toEqual([1]);
  });

  it('prints no token from an error', async () => {
    const { host, ended } = run(() => Promise.reject(new TypeError(`no such thing: ${TOKEN}`)));
    await ended;

    expect(host.text).toContain('no such thing: [redacted]');
    expect(host.text).not.toContain(TOKEN);
  });

  it('logs an uncaught error as JSON without tokens and exits with 1', () => {
    const { host } = run(() => never as Promise<undefined>);
    host.send('uncaughtException', new TypeError(`a defect with ${TOKEN}`));

    expect(host.text).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(host.text)).toMatchObject({
      level: 'fatal',
      error: { name: 'TypeError', message: 'a defect with [redacted]', stack: expect.stringContaining('    at ') },
    });
    expect(host.text).not.toContain(TOKEN);
    expect(host.exits).toEqual([1]);
  });

  it.each([
    ['rejects a promise without a handler', `Promise.reject(new TypeError('oops ${TOKEN}'))`],
    ['throws in a callback', `setImmediate(() => { throw new TypeError('oops ${TOKEN}'); })`],
  ])('exits with 1 when the program %s', async (_, defect) => {
    const imports = ['cli/program', 'std/clock'].map((name) => `await import(${JSON.stringify(sourceUrl(name))})`);
    const script = `const [{ runProgram }, { systemClock: clock }] = [${imports.join(', ')}];
      setInterval(() => {}, 1_000);
      void runProgram({ host: process, clock, stopMs: 1_000 }, async () => { ${defect}; return { stop: async () => {} }; });`;
    const { code, output, stderr } = await runToEnd(process.execPath, ['--input-type=module', '-e', script], { NODE_OPTIONS: '' });

    expect([code, output]).toEqual([1, '']);
    expect(JSON.parse(stderr)).toMatchObject({ level: 'fatal', error: { message: 'oops [redacted]' } });
  });

  it('does not exit if there is no program to run', async () => {
    const { host, ended } = run(async () => undefined);
    await ended;

    expect(host.exits).toEqual([]);
  });

  it('aborts a start in progress and exits with 0', async () => {
    const { host, ended } = run(
      (stopped) => new Promise((_, reject) => stopped.addEventListener('abort', () => reject(stopped.reason as Error))),
    );
    host.send('SIGINT');
    await ended;

    expect(host.text).toBe('');
    expect(host.exits).toEqual([0]);
  });

  it('treats two signals within 300 ms as one', () => {
    const { host, clock } = run(async () => ({ stop: () => never }));
    host.send('SIGINT');
    clock.advance(300);
    host.send('SIGINT');

    expect(host.exits).toEqual([]);
  });

  it('exits immediately on a second signal', () => {
    const { host, clock } = run(async () => ({ stop: () => never }));
    host.send('SIGINT');
    clock.advance(301);
    host.send('SIGINT');

    expect(host.exits).toEqual([130]);
  });

  it('exits when the stop timeout expires', () => {
    const { host, clock } = run(async () => ({ stop: () => never }));
    host.send('SIGTERM');
    clock.advance(1_799);
    expect(host.exits).toEqual([]);
    clock.advance(1);

    expect(host.exits).toEqual([0]);
  });
});
