import { beforeEach, describe, expect, it } from '@jest/globals';
import { BehaviorSubject, Observable, type Subscription } from 'rxjs';
import { whenAborted, whileLeading } from '../../src/runtime/leadership.ts';

let leads$: BehaviorSubject<boolean>;
let stopping: AbortController;
let story: string[];
let term: { readonly work: (item: string) => void; readonly drain: () => void } | undefined;
let subscription: Subscription;

/** Work that records its start and its end, and drains when the test allows it. */
const work$ = new Observable<string>((subscriber) => {
  story.push('begins');
  term = {
    work: (item) => subscriber.next(item),
    drain: () => {
      story.push('drained');
      subscriber.complete();
    },
  };
  return () => story.push('over');
});

beforeEach(() => {
  leads$ = new BehaviorSubject(false);
  stopping = new AbortController();
  story = [];
  term = undefined;
  subscription = whileLeading({ leads$, work$, stopping: stopping.signal }).subscribe({
    next: (item) => story.push(item),
    complete: () => story.push('complete'),
  });
});

describe('whileLeading', () => {
  it('runs the work only while the process leads', () => {
    expect(story).toEqual([]);
    leads$.next(true);
    term?.work('one');
    expect(story).toEqual(['begins', 'one']);
  });

  it('stops the work immediately on lost leadership and restarts it in the next term', () => {
    leads$.next(true);
    leads$.next(false);
    expect(story).toEqual(['begins', 'over']);
    leads$.next(true);
    expect(story).toEqual(['begins', 'over', 'begins']);
  });

  it('lets the work finish on stop while the process still leads, then completes', () => {
    leads$.next(true);
    stopping.abort();
    expect([story, leads$.observed]).toEqual([['begins'], true]);
    term?.work('last');
    term?.drain();
    expect([story, leads$.observed]).toEqual([['begins', 'last', 'drained', 'over', 'complete'], false]);
  });

  it('stops the work and completes if leadership is lost during the drain', () => {
    leads$.next(true);
    stopping.abort();
    leads$.next(false);
    expect([story, leads$.observed]).toEqual([['begins', 'over', 'complete'], false]);
  });

  it('completes immediately on stop without leadership', () => {
    stopping.abort();
    expect([story, leads$.observed]).toEqual([['complete'], false]);
  });

  it('stops the work on unsubscribe', () => {
    leads$.next(true);
    subscription.unsubscribe();
    expect(story).toEqual(['begins', 'over']);
  });
});

describe('whenAborted', () => {
  it.each([
    ['later', () => stopping.abort(), undefined],
    ['before', undefined, () => stopping.abort()],
  ])('emits once for an abort that comes %s', (_case, after, before) => {
    const seen: string[] = [];
    before?.();
    whenAborted(stopping.signal).subscribe({ next: () => seen.push('aborted'), complete: () => seen.push('complete') });
    after?.();
    expect(seen).toEqual(['aborted', 'complete']);
  });
});
