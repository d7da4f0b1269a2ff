// Work that only one replica may do at a time.

import { concat, map, Observable, of, switchMap, takeWhile } from 'rxjs';

export interface LeadershipOptions<T> {
  /** Whether we lead. Subscribed to as long as there is work: a lease that nobody renews is lost. */
  readonly leads$: Observable<boolean>;
  /** The work of one term. It ends by itself after `stopping` aborts, and otherwise not. */
  readonly work$: Observable<T>;
  readonly stopping: AbortSignal;
}

/**
 * Works while we lead. Losing the lead cuts the work off at once; `stopping` lets it end in good order, still as leader, and
 * then ends the stream.
 */
export function whileLeading<T>({ leads$, work$, stopping }: LeadershipOptions<T>): Observable<T> {
  const end$ = of(END);
  return leads$.pipe(
    switchMap((leads): Observable<T | typeof END> => (leads ? concat(work$, end$) : whenAborted(stopping).pipe(map(() => END)))),
    takeWhile((item): item is T => item !== END),
  );
}

const END = Symbol('end');

/** Emits when `signal` aborts, at once if it has, and ends. */
export function whenAborted(signal: AbortSignal): Observable<void> {
  return new Observable((subscriber) => {
    const tell = () => {
      subscriber.next();
      subscriber.complete();
    };
    if (signal.aborted) tell();
    signal.addEventListener('abort', tell, { once: true });
    return () => signal.removeEventListener('abort', tell);
  });
}
