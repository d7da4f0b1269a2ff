import { beforeEach, describe, expect, it } from '@jest/globals';
import { type EventWriter, UnreadEvents } from '../../../src/facade/limits/unread-events.ts';
import { FakeClock } from '../../support/clock.ts';

const LIMITS = { perTenant: 100, total: 250 };

let clock: FakeClock;
let events: UnreadEvents;
beforeEach(() => {
  clock = new FakeClock();
  events = new UnreadEvents(clock, LIMITS);
});

/** A watch with one event of 60 bytes, which its client does not read. */
class Watch implements EventWriter {
  readonly tenant: string;
  isWritten = false;
  isClosed = false;

  constructor(tenant: string) {
    this.tenant = tenant;
  }

  pump(): void {
    if (this.isWritten || !events.admit(this)) return;
    this.isWritten = true;
    events.add(this, 60);
  }

  destroy(): void {
    this.isClosed = true;
    events.leave(this);
  }
}

function openWatches(...tenants: readonly string[]): readonly Watch[] {
  const watches = tenants.map((tenant) => new Watch(tenant));
  for (const watch of watches) watch.pump();
  return watches;
}

const areWritten = (watches: readonly Watch[]) => watches.map(({ isWritten }) => isWritten);

describe('UnreadEvents', () => {
  it('lets a tenant write until its unread events reach the limit', () => {
    expect(areWritten(openWatches('a', 'a', 'a', 'b'))).toEqual([true, true, false, true]);
  });

  it('lets all tenants together write until their unread events reach the total limit', () => {
    expect(areWritten(openWatches('a', 'a', 'b', 'b', 'c', 'd'))).toEqual([true, true, true, true, true, false]);
  });

  it('lets the next watch write once an event has been read', () => {
    const watches = openWatches('a', 'a', 'a', 'a');
    events.remove(watches[0] as Watch);
    expect(areWritten(watches)).toEqual([true, true, true, false]);
  });

  it('serves the tenant with the fewest unread bytes first', () => {
    const watches = openWatches('a', 'a', 'b', 'b', 'c', 'a', 'd');
    events.remove(watches[2] as Watch);
    expect(areWritten(watches.slice(5))).toEqual([false, true]);
  });

  it('prevents a watch that ended while it waited from writing', () => {
    const watches = openWatches('a', 'a', 'a');
    events.leave(watches[2] as Watch);
    events.remove(watches[0] as Watch);
    expect(areWritten(watches)).toEqual([true, true, false]);
  });

  it('closes watches whose clients have not read an event within ten seconds while other watches wait', () => {
    const watches = openWatches('a', 'a', 'a');
    clock.advance(9_999);
    expect(watches.map(({ isClosed }) => isClosed)).toEqual([false, false, false]);
    clock.advance(1);
    expect(watches.map(({ isClosed }) => isClosed)).toEqual([true, true, false]);
    expect(areWritten(watches)).toEqual([true, true, true]);
  });

  it('closes no watch and keeps no timer while no other watch waits', () => {
    const watches = openWatches('a', 'a');
    clock.advance(60_000);
    expect(watches.map(({ isClosed }) => isClosed)).toEqual([false, false]);
    expect(clock.pending).toBe(0);
  });
});
