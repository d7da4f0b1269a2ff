import { describe, expect, it } from '@jest/globals';
import { ServingTurns } from '../../../src/facade/limits/serving-turns.ts';
import { turn } from '../../kube/eventually.ts';

/** Starts requests of an address that record their names. */
function startAll(turns: ServingTurns, started: string[], address: string, count: number): void {
  for (let index = 0; index < count; index++) turns.start(address, () => void started.push(`${address}${index}`));
}

describe('ServingTurns', () => {
  it('starts a few requests at once', () => {
    const started: string[] = [];
    startAll(new ServingTurns(), started, 'a', 16);
    expect(started).toHaveLength(16);
  });

  it('starts at most 16 requests in a turn of the event loop, and all in the end', async () => {
    const started: string[] = [];
    startAll(new ServingTurns(), started, 'a', 40);
    const counts = [started.length];
    for (let count = 0; count < 3; count++) {
      await turn();
      counts.push(started.length);
    }
    expect(counts).toEqual([16, 32, 40, 40]);
    expect(started).toEqual(Array.from({ length: 40 }, (_, index) => `a${index}`));
  });

  it('starts the request of another address in the next turn, however many wait', async () => {
    const [turns, started] = [new ServingTurns(), [] as string[]];
    startAll(turns, started, 'a', 1_000);
    startAll(turns, started, 'b', 1);
    expect(started).not.toContain('b0');
    await turn();
    expect(started).toContain('b0');
  });
});
