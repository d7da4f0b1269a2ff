import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { EventLog } from '../../storage/event-log.ts';

const event = (revision: number, name = `event ${revision}`) => ({ revision, name });

class NamedLog extends EventLog<ReturnType<typeof event>> {
  namesSince(revision: number): readonly string[] | 'expired' {
    const events = this.since(revision);
    return events === 'expired' ? events : events.map(({ name }) => name);
  }
}

function logOf(capacity: number, ...revisions: readonly number[]): NamedLog {
  const log = new NamedLog({ start: 10, capacity });
  for (const revision of revisions) log.append(event(revision));
  return log;
}

describe('EventLog', () => {
  it('returns no events since the start', () => {
    expect(logOf(3).namesSince(10)).toEqual([]);
  });

  it('returns the events after a revision, oldest first', () => {
    expect(logOf(3, 11, 12, 13).namesSince(11)).toEqual(['event 12', 'event 13']);
  });

  it('accepts gaps between revisions', () => {
    const log = logOf(3, 15, 20);
    expect(log.namesSince(12)).toEqual(['event 15', 'event 20']);
    expect(log.namesSince(17)).toEqual(['event 20']);
  });

  it('removes the events after a revision, even from a full log', () => {
    const log = logOf(3, 11, 12, 13, 14);
    log.undo(13);
    log.append(event(14, 'another event 14'));
    expect([log.start, log.namesSince(12), log.namesSince(10)]).toEqual([11, ['event 13', 'another event 14'], 'expired']);
  });

  it('returns no events since a future revision', () => {
    expect(logOf(3, 11).namesSince(99)).toEqual([]);
  });

  it('returns expired for revisions before its start', () => {
    expect(logOf(3, 11).namesSince(9)).toBe('expired');
  });

  it('drops the oldest event of a full log and returns expired for it', () => {
    const log = logOf(3, 11, 12, 13, 14);
    expect(log.start).toBe(11);
    expect(log.namesSince(10)).toBe('expired');
    expect(log.namesSince(11)).toEqual(['event 12', 'event 13', 'event 14']);
  });

  it.each([3, 9])('drops events up to a revision and accepts new ones, with capacity %d', (capacity) => {
    const log = logOf(capacity, 11, 12, 13, 14);
    log.dropUntil(12);
    expect([log.start, log.namesSince(11), log.namesSince(12)]).toEqual([12, 'expired', ['event 13', 'event 14']]);
    for (const revision of [15, 16]) log.append(event(revision));
    expect(log.namesSince(14)).toEqual(['event 15', 'event 16']);
    expect(log.namesSince(12)).toEqual(capacity === 3 ? 'expired' : ['event 13', 'event 14', 'event 15', 'event 16']);
    log.dropUntil(16);
    expect([log.start, log.namesSince(16)]).toEqual([16, []]);
  });

  it('returns the same events as the whole history, or expired', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), steps, fc.nat(120), (capacity, increments, since) => {
        const log = new EventLog<{ revision: number }>({ start: 0, capacity });
        const history: { revision: number }[] = [];
        let revision = 0;
        for (const increment of increments) {
          revision += increment;
          history.push({ revision });
          log.append({ revision });
        }
        const dropped = history.at(-capacity - 1)?.revision ?? 0;
        expect(log.start).toBe(dropped);
        expect(log.since(since)).toEqual(since < dropped ? 'expired' : history.filter((each) => each.revision > since));
      }),
    );
  });
});
