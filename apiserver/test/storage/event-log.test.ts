import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { EventLog } from '../../storage/event-log.ts';

function logOf(capacity: number, ...revisions: readonly number[]): EventLog<string> {
  const log = new EventLog<string>({ start: 10, capacity });
  for (const revision of revisions) log.append(revision, `event ${revision}`);
  return log;
}

describe('EventLog', () => {
  it('returns no events since the start', () => {
    expect(logOf(3).since(10)).toEqual([]);
  });

  it('returns the events after a revision, oldest first', () => {
    expect(logOf(3, 11, 12, 13).since(11)).toEqual(['event 12', 'event 13']);
  });

  it('accepts gaps between revisions', () => {
    const log = logOf(3, 15, 20);
    expect(log.since(12)).toEqual(['event 15', 'event 20']);
    expect(log.since(17)).toEqual(['event 20']);
  });

  it('undoes the events after a revision, even in a full log', () => {
    const log = logOf(3, 11, 12, 13, 14);
    log.undo(13);
    log.append(14, 'another event 14');
    expect([log.start, log.revision, log.since(12), log.since(10)]).toEqual([11, 14, ['event 13', 'another event 14'], 'expired']);
  });

  it('returns no events since a future revision', () => {
    expect(logOf(3, 11).since(99)).toEqual([]);
  });

  it('returns expired for revisions before its start', () => {
    expect(logOf(3, 11).since(9)).toBe('expired');
  });

  it('drops the oldest event of a full log and returns expired for it', () => {
    const log = logOf(3, 11, 12, 13, 14);
    expect(log.start).toBe(11);
    expect(log.since(10)).toBe('expired');
    expect(log.since(11)).toEqual(['event 12', 'event 13', 'event 14']);
  });

  it.each([3, 9])('drops events up to a revision and accepts new ones, with capacity %d', (capacity) => {
    const log = logOf(capacity, 11, 12, 13, 14);
    log.dropUntil(12);
    expect([log.start, log.since(11), log.since(12)]).toEqual([12, 'expired', ['event 13', 'event 14']]);
    for (const revision of [15, 16]) log.append(revision, `event ${revision}`);
    expect(log.since(14)).toEqual(['event 15', 'event 16']);
    expect(log.since(12)).toEqual(capacity === 3 ? 'expired' : ['event 13', 'event 14', 'event 15', 'event 16']);
    log.dropUntil(16);
    expect([log.start, log.since(16)]).toEqual([16, []]);
  });

  it('returns the revision of the newest event', () => {
    expect(logOf(3).revision).toBe(10);
    expect(logOf(3, 11, 12, 13, 14).revision).toBe(14);
  });

  it.each([10, 9, Number.NaN])('rejects revision %d after 10', (revision) => {
    expect(() => logOf(3).append(revision, 'late')).toThrow(RangeError);
  });

  it.each([0, -1, 1.5])('rejects a capacity of %d', (capacity) => {
    expect(() => new EventLog({ start: 0, capacity })).toThrow(RangeError);
  });

  it('returns the same events as the whole history, or expired', () => {
    const steps = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), steps, fc.nat(120), (capacity, increments, since) => {
        const log = new EventLog<number>({ start: 0, capacity });
        const history: number[] = [];
        let revision = 0;
        for (const increment of increments) {
          revision += increment;
          history.push(revision);
          log.append(revision, revision);
        }
        const dropped = history.at(-capacity - 1) ?? 0;
        expect(log.start).toBe(dropped);
        expect(log.since(since)).toEqual(since < dropped ? 'expired' : history.filter((each) => each > since));
      }),
    );
  });
});
