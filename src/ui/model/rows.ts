// Rows of a long list: selection of the rows to draw, movement of the active row by keys, and scrolling to a row.

/** Range of rows; the end is exclusive. */
export interface RowRange {
  readonly first: number;
  readonly end: number;
}

/** Number of rows to draw above and below the view, so that scrolling shows no gap. */
const MARGIN = 8;

/** Returns the rows to draw. Lengths are in pixels. */
export function selectVisibleRows(count: number, rowHeight: number, scrollTop: number, viewHeight: number): RowRange {
  const first = Math.max(0, Math.floor(scrollTop / rowHeight) - MARGIN);
  const end = Math.min(count, Math.ceil((scrollTop + viewHeight) / rowHeight) + MARGIN);
  return { first: Math.min(first, end), end };
}

/** Keys that move the active row. */
const MOVES: Readonly<Record<string, (index: number, page: number, last: number) => number>> = {
  ArrowDown: (index) => index + 1,
  ArrowUp: (index) => index - 1,
  PageDown: (index, page) => index + page,
  PageUp: (index, page) => index - page,
  Home: () => 0,
  End: (_index, _page, last) => last,
};

/**
 * Returns the row that a key activates; undefined if the key does not move the active row or the list is empty. `active` is -1 if no row is
 * active. `page` is the number of rows by which the keys Page Up and Page Down move.
 */
export function moveActive(key: string, active: number, count: number, page: number): number | undefined {
  const move = Object.hasOwn(MOVES, key) ? MOVES[key] : undefined;
  if (move === undefined || count === 0) return undefined;
  return Math.min(count - 1, Math.max(0, move(active, Math.max(1, page), count - 1)));
}

/** Returns the scroll position nearest to the current one that shows the whole row. */
export function scrollToRow(index: number, rowHeight: number, scrollTop: number, viewHeight: number): number {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  return Math.max(scrollTop, top + rowHeight - viewHeight);
}
