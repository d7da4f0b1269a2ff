// A long list that draws only the rows in view and some rows around them. The arrow keys select the active row, Enter opens that row.

import { Component } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { moveActive, scrollToRow, selectVisibleRows } from '../model/rows.ts';
import { type Child, html } from './html.ts';

interface Item {
  readonly key: string;
}

export interface GridProps<T extends Item> {
  readonly label: string;
  readonly items: readonly T[];
  /** Class that sets the columns. */
  readonly kind: string;
  /** Cells of the header. */
  readonly head: Child;
  readonly row: (item: T) => Child;
  /** Text that changes when the cells of unchanged items must be drawn again. */
  readonly stamp: string;
  readonly onOpen: (item: T) => void;
  /** Key of the item whose details are shown. */
  readonly opened: string | undefined;
  /** True to keep the first visible row in place when rows before it appear or disappear. */
  readonly isAnchored: boolean;
  /** Content of a list without items. */
  readonly empty: Child;
}

const PHONE = matchMedia('(max-width: 720px)');

/** Height of the header, in pixels; narrow screens have none. */
const HEAD_HEIGHT = 36;

/** Returns the height of rows, in pixels; the style sheet has the same heights. */
function rowHeightOf(isPhone: boolean): number {
  return isPhone ? 76 : 48;
}

export function Grid<T extends Item>({ label, items, kind, head, row, stamp, onOpen, opened, isAnchored, empty }: GridProps<T>) {
  const { view, position, rowHeight } = useView();
  const [active, setActive] = useState<string | undefined>(undefined);
  useAnchor(items, { view, rowHeight, isAnchored });
  const { first, end } = selectVisibleRows(items.length, rowHeight, position.top, position.height);
  const drawn = items.slice(first, end);
  const onKeyDown = (event: KeyboardEvent) => {
    const index = items.findIndex(({ key }) => key === active);
    const chosen = items[index];
    if (event.key === 'Enter' && chosen !== undefined) onOpen(chosen);
    const next = moveActive(event.key, index, items.length, Math.floor(position.height / rowHeight) - 1);
    const target = next === undefined ? undefined : items[next];
    if (next === undefined || target === undefined || view.current === null) return;
    event.preventDefault();
    setActive(target.key);
    view.current.scrollTop = scrollToRow(next, rowHeight, view.current.scrollTop, position.height);
  };
  return html`<div class="grid ${kind}" ref=${view} role="grid" aria-label=${label} aria-rowcount=${items.length + 1} tabindex="0"
    aria-activedescendant=${drawn.some(({ key }) => key === active) ? toRowId(active) : undefined} onKeyDown=${onKeyDown}>
    <div class="head row" role="row" aria-rowindex="1">${head}</div>
    <div class="space" role="rowgroup" style=${{ height: `${items.length * rowHeight}px` }}>
      ${drawn.map(
        (item, index) => html`<div class=${toRowClass(item.key, active, opened)} role="row" id=${toRowId(item.key)} key=${item.key}
            aria-rowindex=${first + index + 2} aria-selected=${item.key === opened}
            style=${{ transform: `translateY(${(first + index) * rowHeight}px)` }}
            onClick=${() => {
              setActive(item.key);
              onOpen(item);
            }}><${Cells} item=${item} stamp=${stamp} row=${row} /></div>`,
      )}
      ${items.length === 0 && html`<div class="empty" role="row"><div role="gridcell">${empty}</div></div>`}
    </div>
  </div>`;
}

interface CellsProps<T> {
  readonly item: T;
  readonly stamp: string;
  readonly row: (item: T) => Child;
}

/** The cells of one row, which are drawn again only if the item or the stamp has changed. */
class Cells<T> extends Component<CellsProps<T>> {
  override shouldComponentUpdate({ item, stamp }: CellsProps<T>): boolean {
    return item !== this.props.item || stamp !== this.props.stamp;
  }

  override render() {
    const { item, row } = this.props;
    return row(item);
  }
}

function toRowId(key: string | undefined): string {
  return `row-${key}`;
}

function toRowClass(key: string, active: string | undefined, opened: string | undefined): string {
  return `row${key === active ? ' active' : ''}${key === opened ? ' opened' : ''}`;
}

/** Follows the scroll position and size of the view. */
function useView() {
  const view = useRef<HTMLElement>(null);
  const [position, setPosition] = useState({ top: 0, height: innerHeight });
  const [isPhone, setPhone] = useState(PHONE.matches);
  useEffect(() => {
    const element = view.current;
    if (element === null) return;
    const measure = () => setPosition({ top: element.scrollTop, height: element.clientHeight - (PHONE.matches ? 0 : HEAD_HEIGHT) });
    const onPhone = () => setPhone(PHONE.matches);
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener('scroll', measure, { passive: true });
    PHONE.addEventListener('change', onPhone);
    return () => {
      observer.disconnect();
      element.removeEventListener('scroll', measure);
      PHONE.removeEventListener('change', onPhone);
    };
  }, []);
  return { view, position, rowHeight: rowHeightOf(isPhone) };
}

interface AnchorOptions {
  readonly view: { readonly current: HTMLElement | null };
  readonly rowHeight: number;
  readonly isAnchored: boolean;
}

/** Keeps the first visible row in place when items change. If the list is scrolled to the top, new rows appear at the top. */
function useAnchor(items: readonly Item[], { view, rowHeight, isAnchored }: AnchorOptions): void {
  const previous = useRef<readonly Item[]>(items);
  useLayoutEffect(() => {
    const before = previous.current;
    previous.current = items;
    const element = view.current;
    if (element === null || before === items || !isAnchored || element.scrollTop < rowHeight) return;
    const index = Math.floor(element.scrollTop / rowHeight);
    const key = before[index]?.key;
    if (key === undefined || items[index]?.key === key) return;
    const found = items.findIndex((item) => item.key === key);
    if (found >= 0) element.scrollTop += (found - index) * rowHeight;
  }, [items, rowHeight, isAnchored]);
}
