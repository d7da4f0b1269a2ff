import { describe, expect, it } from '@jest/globals';
import { handleInterrupts } from '../../src/cli/interrupt.ts';
import { FakeClock } from '../support/clock.ts';
import { FakeProcess } from './fake-process.ts';

describe('handleInterrupts', () => {
  it.each(['SIGINT', 'SIGTERM'] as const)('aborts the command on %s, and exits with 130 after a second', (event) => {
    const [host, clock] = [new FakeProcess(), new FakeClock()];
    const { signal } = handleInterrupts(host, clock);
    host.send(event);
    expect([signal.aborted, host.exits]).toEqual([true, []]);
    clock.advance(1_000);
    expect(host.exits).toEqual([130]);
  });

  it('exits with 130 on a second signal', () => {
    const host = new FakeProcess();
    handleInterrupts(host, new FakeClock());
    host.send('SIGINT');
    host.send('SIGINT');
    expect(host.exits).toEqual([130]);
  });

  it('redacts tokens in an uncaught error, and exits with 1', () => {
    const host = new FakeProcess();
    handleInterrupts(host, new FakeClock());
    host.send('uncaughtException', new TypeError('no such thing: eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl'));
    expect(host.text).toMatch(/^purser: TypeError: no such thing: \[redacted\]\n/);
    expect(host.exits).toEqual([1]);
  });

  it('prints one line if the output cannot be written', () => {
    const host = new FakeProcess();
    handleInterrupts(host, new FakeClock());
    const error = new Error('ENOSPC: no space left on device, write');
    host.send('uncaughtException', Object.assign(error, { code: 'ENOSPC', syscall: 'write' }));
    expect([host.text, host.exits]).toEqual(['purser: ENOSPC: no space left on device, write\n', [1]]);
  });

  it('exits silently if the reader of the output has exited', () => {
    const host = new FakeProcess();
    handleInterrupts(host, new FakeClock());
    host.send('uncaughtException', Object.assign(new Error('write EPIPE'), { code: 'EPIPE', syscall: 'write' }));
    expect([host.text, host.exits]).toEqual(['', [141]]);
  });

  it('ignores signals and errors after release()', () => {
    const host = new FakeProcess();
    const interruption = handleInterrupts(host, new FakeClock());
    interruption.release();
    host.send('SIGINT');
    host.send('uncaughtException', new Error('oops'));
    expect([interruption.signal.aborted, host.exits, host.text]).toEqual([false, [], '']);
  });
});
