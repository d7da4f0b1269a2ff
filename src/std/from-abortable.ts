// Converts async iterables to observables; rxjs' `from` cannot stop an iterable that is waiting.

import { Observable, type Subscriber } from 'rxjs';

/**
 * Emits the values of the iterable; each subscription starts its own iteration.
 * Unsubscribing aborts the signal immediately, even while the iterable waits for its next value.
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
      // Leaving the loop lets the iterable clean up.
      if (subscriber.closed) return;
    }
    subscriber.complete();
  } catch (error) {
    subscriber.error(error);
  }
}
