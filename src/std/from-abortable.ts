// From async iteration to observables, without leaks: rxjs' own `from` cannot stop an iterable that is waiting.

import { Observable, type Subscriber } from 'rxjs';

/**
 * Emits what the iterable yields; each subscription starts its own.
 * Unsubscribing aborts the signal at once, even while the iterable waits for its next value.
 */
export function fromAbortable<T>(iterate: (signal: AbortSignal) => AsyncIterable<T>): Observable<T> {
  return new Observable((subscriber) => {
    const controller = new AbortController();
    void pump(() => iterate(controller.signal), subscriber);
    return () => controller.abort();
  });
}

async function pump<T>(iterate: () => AsyncIterable<T>, subscriber: Subscriber<T>): Promise<void> {
  try {
    for await (const value of iterate()) {
      subscriber.next(value);
      // Leaving the loop lets the iterable clean up; it must not be asked for more.
      if (subscriber.closed) return;
    }
    subscriber.complete();
  } catch (error) {
    subscriber.error(error);
  }
}
