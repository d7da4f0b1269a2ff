// Flattens lists in streams.

import { Observable, type OperatorFunction } from 'rxjs';

/** Emits each item that `itemsOf` returns for each value. Like `mergeMap`, without the cost of an inner observable. */
export function mergeItems<T, R>(itemsOf: (value: T) => Iterable<R>): OperatorFunction<T, R> {
  return (source$) =>
    new Observable((subscriber) => {
      const emit = (value: T) => {
        if (subscriber.closed) return;
        try {
          for (const item of itemsOf(value)) {
            subscriber.next(item);
            if (subscriber.closed) return;
          }
        } catch (error) {
          subscriber.error(error);
        }
      };
      return source$.subscribe({ next: emit, error: (error) => subscriber.error(error), complete: () => subscriber.complete() });
    });
}

/** Maximum number of items in one turn of the event loop: each item may cause work that takes some microseconds. */
const ITEMS_PER_TURN = 500;

/**
 * Emits each item that `itemsOf` returns for each value, but only some in each turn of the event loop, so that a value with many items does
 * not block the process. If a value arrives again before the operator has started to emit its items, the items are emitted once. Undefined
 * items are not emitted, but count toward `itemsPerTurn`, so that `itemsOf` can return undefined for each candidate that it rejects. Each
 * value also counts toward `itemsPerTurn`.
 */
export function mergeItemsInTurns<T, R>(
  itemsOf: (value: T) => Iterable<R | undefined>,
  itemsPerTurn = ITEMS_PER_TURN,
): OperatorFunction<T, R> {
  return (source$) =>
    new Observable((subscriber) => {
      const values = new Set<T>();
      let items: Iterator<R | undefined> | undefined;
      let left = itemsPerTurn;
      let isComplete = false;
      let nextTurn: NodeJS.Immediate | undefined;
      const takeItem = (): IteratorResult<R | undefined, unknown> => {
        items ??= takeItems(values, itemsOf);
        const item = items.next();
        if (item.done) items = undefined;
        return item;
      };
      const emit = () => {
        try {
          for (; left > 0 && !subscriber.closed; left--) {
            const item = takeItem();
            if (item.done) break;
            if (item.value !== undefined) subscriber.next(item.value);
          }
        } catch (error) {
          subscriber.error(error);
        }
        if (subscriber.closed) return;
        if (isComplete && items === undefined && values.size === 0) subscriber.complete();
        else if (left < itemsPerTurn) nextTurn ??= setImmediate(resume);
      };
      const resume = () => {
        nextTurn = undefined;
        left = itemsPerTurn;
        emit();
      };
      subscriber.add(() => clearImmediate(nextTurn));
      return source$.subscribe({
        next: (value) => {
          values.add(value);
          emit();
        },
        error: (error) => subscriber.error(error),
        complete: () => {
          isComplete = true;
          emit();
        },
      });
    });
}

function* takeItems<T, R>(values: Set<T>, itemsOf: (value: T) => Iterable<R | undefined>): Generator<R | undefined> {
  for (const value of values) {
    values.delete(value);
    yield undefined;
    yield* itemsOf(value);
  }
}
