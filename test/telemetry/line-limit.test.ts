import { describe, expect, it } from '@jest/globals';
import { LineLimit } from '../../src/telemetry/line-limit.ts';
import { FakeClock } from '../support/clock.ts';

function world() {
  const clock = new FakeClock();
  const suppressed: (readonly [string, number])[] = [];
  const limit = new LineLimit({ clock, onSuppressed: (...each) => suppressed.push(each) });
  const write = (namespace: string, lines: number) => Array.from({ length: lines }, () => limit.take(namespace)).filter(Boolean).length;
  return { clock, suppressed, limit, write };
}

describe('LineLimit', () => {
  it('allows 10 lines per namespace and minute, and reports the number of suppressed lines', () => {
    const { clock, suppressed, write } = world();
    expect([write('a', 1_000), write('b', 3)]).toEqual([10, 3]);
    clock.advance(60_000);
    expect([suppressed, write('a', 20)]).toEqual([[['a', 990]], 10]);
  });

  it('allows a line for another namespace after 11 namespaces have reached their limit', () => {
    const { write } = world();
    const lines = Array.from({ length: 11 }, (_, index) => write(`team-${index}`, 100));
    expect(lines).toEqual([10, 10, 10, 10, 10, 10, 10, 10, 10, 5, 3]);
    expect(write('newcomer', 1)).toBe(1);
  });

  it('allows 100 lines in total', () => {
    const { write } = world();
    const lines = Array.from({ length: 200 }, (_, index) => write(`team-${index}`, 1)).reduce((sum, each) => sum + each, 0);
    expect(lines).toBe(100);
  });

  it('reports the suppressed lines on close, and leaves no timer', () => {
    const { clock, suppressed, limit, write } = world();
    write('a', 12);
    limit.close();
    expect([suppressed, clock.pending]).toEqual([[['a', 2]], 0]);
  });
});
