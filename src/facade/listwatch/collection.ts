// All clusters at one moment, in the order of their names. A change makes a new collection that shares what stayed the same,
// so whoever reads one slowly, or goes back to an old one, sees it whole.

import type { PublishedCluster } from './item.ts';

/** Never changes. */
export class ClusterCollection {
  static readonly empty = new ClusterCollection([]);
  readonly blocks: readonly Block[];
  readonly size: number;

  private constructor(blocks: readonly Block[]) {
    this.blocks = blocks;
    this.size = blocks.reduce((sum, { items }) => sum + items.length, 0);
  }

  static of(clusters: Iterable<PublishedCluster>): ClusterCollection {
    const sorted = [...clusters].sort((a, b) => order(a.name, b.name));
    const count = Math.ceil(sorted.length / BLOCK_ITEMS);
    return new ClusterCollection(
      Array.from({ length: count }, (_, index) => new Block(sorted.slice(index * BLOCK_ITEMS, (index + 1) * BLOCK_ITEMS))),
    );
  }

  get(name: string): PublishedCluster | undefined {
    const block = this.blocks[this.#blockOf(name)];
    const found = block?.items[block.lowerBound(name)];
    return found?.name === name ? found : undefined;
  }

  /** With `cluster` in place of the one of its name. */
  with(cluster: PublishedCluster): ClusterCollection {
    const at = this.#blockOf(cluster.name);
    const block = this.blocks[at];
    if (block === undefined) return new ClusterCollection([new Block([cluster])]);
    const position = block.lowerBound(cluster.name);
    const replaced = block.items[position]?.name === cluster.name ? 1 : 0;
    return this.#replaced(at, block.items.toSpliced(position, replaced, cluster));
  }

  without(name: string): ClusterCollection {
    if (this.get(name) === undefined) return this;
    const at = this.#blockOf(name);
    const { items } = this.blocks[at] as Block;
    return this.#replaced(
      at,
      items.filter((item) => item.name !== name),
    );
  }

  /** Those whose names do not come before `start`. */
  *from(start: string): Generator<PublishedCluster> {
    for (let at = this.#blockOf(start); at < this.blocks.length; at++) {
      const block = this.blocks[at] as Block;
      for (let position = block.lowerBound(start); position < block.items.length; position++) {
        yield block.items[position] as PublishedCluster;
      }
    }
  }

  /** The last block that can hold the name. */
  #blockOf(name: string): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (order(this.blocks[middle]?.items[0]?.name ?? '', name) > 0) high = middle;
      else low = middle + 1;
    }
    return Math.max(low - 1, 0);
  }

  #replaced(at: number, items: readonly PublishedCluster[]): ClusterCollection {
    const next = this.blocks[at + 1]?.items ?? [];
    const isThin = items.length + next.length <= BLOCK_ITEMS / 2;
    const kept = isThin ? [...items, ...next] : items;
    const half = kept.length > 2 * BLOCK_ITEMS ? BLOCK_ITEMS : kept.length;
    const blocks = [kept.slice(0, half), kept.slice(half)].filter((each) => each.length > 0).map((each) => new Block(each));
    return new ClusterCollection(this.blocks.toSpliced(at, isThin ? 2 : 1, ...blocks));
  }
}

/** Neighbours whose bytes are written together. */
export class Block {
  readonly items: readonly PublishedCluster[];
  #bytes: Buffer | undefined;

  constructor(items: readonly PublishedCluster[]) {
    this.items = items;
  }

  /** The items as they stand in a list, each with a comma behind it. Made when first needed. */
  get bytes(): Buffer {
    this.#bytes ??= this.#join();
    return this.#bytes;
  }

  /** Index of the first item whose name does not come before `name`. */
  lowerBound(name: string): number {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (order(this.items[middle]?.name ?? '', name) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #join(): Buffer {
    const joined = Buffer.concat(this.items.flatMap(({ bytes }) => [bytes, COMMA]));
    let at = 0;
    for (const item of this.items) {
      const end = at + item.bytes.length;
      item.moveTo(joined.subarray(at, end));
      at = end + COMMA.length;
    }
    return joined;
  }
}

/** A compromise: a list is written block by block, and a change makes one block anew. */
const BLOCK_ITEMS = 128;
const COMMA = Buffer.from(',');

/** Names are ASCII, so comparing code units compares bytes. */
function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
