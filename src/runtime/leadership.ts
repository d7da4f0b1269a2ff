// Work that only the leader does.

import { concat, map, Observable, of, switchMap, takeWhile } from 'rxjs';

export interface LeadershipOptions<T> {
  /**
   * Stream that emits true while this process leads, and false otherwise. `whileLeading` stays subscribed until the work has ended, because
   * the subscription renews the Lease.
   */
  readonly leads$: Observable<boolean>;
  /** Work of the leader, subscribed whenever this process begins to lead; must complete after `stopping` aborts, and not before. */
  readonly work$: Observable<T>;
  readonly stopping: AbortSignal;
}

/**
 * Runs the work while this process leads. Unsubscribes from the work as soon as leadership is lost. After `stopping` aborts, keeps
 * leadership until the work completes.
 */
export function whileLeading<T>({ leads$, work$, stopping }: LeadershipOptions<T>): Observable<T> {
  const end$ = of(END);
  return leads$.pipe(
    switchMap((leads): Observable<T | typeof END> => (leads ? concat(work$, end$) : whenAborted(stopping).pipe(map(() => END)))),
    takeWhile((item): item is T => item !== END),
  );
}

const END = Symbol('end');

/** Emits and completes when `signal` aborts; immediately if it is already aborted. */
export function whenAborted(signal: AbortSignal): Observable<void> {
  return new Observable((subscriber) => {
    const emit = () => {
      subscriber.next();
      subscriber.complete();
    };
    if (signal.aborted) emit();
    signal.addEventListener('abort', emit, { once: true });
    return () => signal.removeEventListener('abort', emit);
  });
}
