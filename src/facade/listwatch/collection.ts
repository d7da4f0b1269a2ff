// All objects of a list at one revision, sorted by key. A change creates a new collection that shares all unchanged blocks, so that slow
// readers and lists of old versions have a consistent state.

import { isNamespaceEntry, Visibility, type VisibleObject } from '../../access/visibility.ts';
import { objectKeyOf } from '../../kube/paths.ts';
import type { KubeObject } from '../../kubernetes/object.ts';
import { encodeGoJson, encodeGoJsonString } from '../../std/go-text.ts';
import { type FacadeVersion, formatFacadeVersionAt } from './version.ts';

/** One version of an object in its public form. All callers share its bytes. */
export class Item implements VisibleObject {
  readonly key: string;
  readonly clusterSetName: string | undefined;
  /** The hub's resourceVersion of the object. */
  readonly revision: number;
  readonly object: KubeObject;
  /** Approximate size in memory, in bytes. */
  readonly weight: number;
  #bytes: Buffer | undefined;
  /** Position of the resourceVersion in the bytes. */
  #versionAt = 0;
  #versionEnd = 0;

  constructor(object: KubeObject, weight: number, clusterSetName?: string) {
    this.key = objectKeyOf(object);
    this.clusterSetName = clusterSetName;
    this.revision = Number(object.metadata.resourceVersion ?? 0);
    this.object = object;
    this.weight = weight;
  }

  /** Returns the object with another resourceVersion. */
  at(version: string): KubeObject {
    return { ...this.object, metadata: { ...this.object.metadata, resourceVersion: version } };
  }

  /** Compact JSON for a caller who sees everything. */
  get bytes(): Buffer {
    this.#bytes ??= this.#encode();
    return this.#bytes;
  }

  /** Returns the compact JSON with another resourceVersion, in parts. */
  toParts(version: string): readonly [Buffer, Buffer, Buffer] {
    const { bytes } = this;
    return [bytes.subarray(0, this.#versionAt), Buffer.from(version, 'latin1'), bytes.subarray(this.#versionEnd)];
  }

  /**
   * Returns the compact JSON of the item in a list with this version, in parts. Their total length is the length of `bytes`, because all
   * versions of one revision have the same length.
   */
  toListParts(list: FacadeVersion): readonly Buffer[] {
    const { fingerprint } = Visibility.everything;
    return list.fingerprint === fingerprint ? [this.bytes] : this.toParts(formatFacadeVersionAt(this.revision, list));
  }

  #encode(): Buffer {
    const version = formatFacadeVersionAt(this.revision, Visibility.everything);
    const [before, after] = encodeParts(this.object);
    this.#versionAt = Buffer.byteLength(before);
    this.#versionEnd = this.#versionAt + version.length;
    return toOwnBuffer(before + version + after);
  }
}

/** Returns the text in its own buffer. A buffer from Node's shared pool would keep the pool in memory as long as the item exists. */
function toOwnBuffer(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}

/** Number of items in a new block. A list is written block by block, and a change copies one block. */
const BLOCK_ITEMS = 128;
const COMMA = Buffer.from(',');

/** An immutable collection of items, sorted by key. */
export class Collection {
  static readonly empty = new Collection([]);
  readonly blocks: readonly Block[];
  readonly size: number;

  private constructor(blocks: readonly Block[]) {
    this.blocks = blocks;
    this.size = blocks.reduce((sum, { items }) => sum + items.length, 0);
  }

  static of(items: Iterable<Item>): Collection {
    const sorted = [...items].sort((a, b) => compareKeys(a.key, b.key));
    const count = Math.ceil(sorted.length / BLOCK_ITEMS);
    return new Collection(
      Array.from({ length: count }, (_, index) => new Block(sorted.slice(index * BLOCK_ITEMS, (index + 1) * BLOCK_ITEMS))),
    );
  }

  get(key: string): Item | undefined {
    const block = this.blocks[this.#findBlock(key)];
    const found = block?.items[block.findLowerBound(key)];
    return found?.key === key ? found : undefined;
  }

  /** Returns a collection that contains `item`, in place of any item with the same key. */
  with(item: Item): Collection {
    const at = this.#findBlock(item.key);
    const block = this.blocks[at];
    if (block === undefined) return new Collection([new Block([item])]);
    const position = block.findLowerBound(item.key);
    const replaced = block.items[position]?.key === item.key ? 1 : 0;
    return this.#replaceBlock(at, block.items.toSpliced(position, replaced, item));
  }

  without(key: string): Collection {
    if (this.get(key) === undefined) return this;
    const at = this.#findBlock(key);
    const { items } = this.blocks[at] as Block;
    return this.#replaceBlock(
      at,
      items.filter((item) => item.key !== key),
    );
  }

  /**
   * Returns a collection that contains these items, in place of any items with the same keys; undefined removes an item. Shares the blocks
   * that do not change.
   */
  withAll(changes: ReadonlyMap<string, Item | undefined>): Collection {
    if (this.blocks.length === 0) return Collection.of([...changes.values()].filter((item) => item !== undefined));
    const keys = Map.groupBy(changes.keys(), (key) => this.#findBlock(key));
    return new Collection(
      this.blocks.flatMap((block, at) => {
        const added = keys.get(at)?.flatMap((key) => changes.get(key) ?? []);
        return added === undefined ? block : Collection.of([...block.items.filter(({ key }) => !changes.has(key)), ...added]).blocks;
      }),
    );
  }

  /** Yields the items whose keys are not less than `start`. */
  *from(start: string): Generator<Item> {
    for (let at = this.#findBlock(start); at < this.blocks.length; at++) {
      const block = this.blocks[at] as Block;
      for (let position = block.findLowerBound(start); position < block.items.length; position++) {
        yield block.items[position] as Item;
      }
    }
  }

  /**
   * Returns the items that a caller may see, in one namespace or in all, from the key `start` on. The cost grows with the number of visible
   * names. The cost also grows with the collection if the caller sees everything, if there are more names than items, or if a name stands
   * for objects in any namespace or for a cluster set.
   */
  findVisible(visibility: Visibility, namespace = '', start = ''): Generator<Item> {
    if (namespace !== '') return this.#findVisibleIn(namespace, visibility, start);
    if (visibility.isEverything) return this.from(start);
    if (visibility.spansNamespaces || visibility.names.length > this.size) return this.#filterVisible(visibility, start);
    const named = this.#findNamed(visibility.names, start);
    return visibility.hasClusterSets ? mergeSorted(named, this.#findMembers(visibility, start)) : named;
  }

  *#findVisibleIn(namespace: string, visibility: Visibility, start: string): Generator<Item> {
    const prefix = `${namespace}/`;
    for (const item of this.findVisible(visibility, '', start > prefix ? start : prefix)) {
      // Keys are sorted, so those of one namespace are adjacent.
      if (!item.key.startsWith(prefix)) return;
      yield item;
    }
  }

  *#filterVisible(visibility: Visibility, start: string): Generator<Item> {
    for (const item of this.from(start)) if (visibility.includesObject(item)) yield item;
  }

  /** Yields the items of visible cluster sets. */
  *#findMembers(visibility: Visibility, start: string): Generator<Item> {
    for (let at = this.#findBlock(start); at < this.blocks.length; at++) {
      for (const item of (this.blocks[at] as Block).findMembers(visibility)) if (item.key >= start) yield item;
    }
  }

  /** Yields the items that these sorted entries include. Each entry is a key, or stands for a whole namespace. */
  *#findNamed(names: readonly string[], start: string): Generator<Item> {
    let covered: string | undefined;
    for (const name of names) {
      // The keys of a namespace follow the entry of the namespace, which covers them.
      if (covered !== undefined && name.startsWith(covered)) continue;
      if (isNamespaceEntry(name)) {
        covered = name;
        yield* this.#withPrefix(name, start);
      } else {
        const item = name < start ? undefined : this.get(name);
        if (item !== undefined) yield item;
      }
    }
  }

  *#withPrefix(prefix: string, start: string): Generator<Item> {
    for (const item of this.from(start > prefix ? start : prefix)) {
      // Keys are sorted, so those with one prefix are adjacent.
      if (!item.key.startsWith(prefix)) return;
      yield item;
    }
  }

  /** Returns the index of the last block that can hold the key. */
  #findBlock(key: string): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.blocks[middle]!.items[0]!.key, key) > 0) high = middle;
      else low = middle + 1;
    }
    return Math.max(low - 1, 0);
  }

  #replaceBlock(at: number, items: readonly Item[]): Collection {
    const next = this.blocks[at + 1]?.items ?? [];
    const isThin = items.length + next.length <= BLOCK_ITEMS / 2;
    const kept = isThin ? [...items, ...next] : items;
    const half = kept.length > 2 * BLOCK_ITEMS ? BLOCK_ITEMS : kept.length;
    const blocks = [kept.slice(0, half), kept.slice(half)].filter((each) => each.length > 0).map((each) => new Block(each));
    return new Collection(this.blocks.toSpliced(at, isThin ? 2 : 1, ...blocks));
  }
}

/** Adjacent items, whose bytes are written together. */
class Block {
  readonly items: readonly Item[];
  #bytes: Buffer | undefined;
  #byClusterSet: ReadonlyMap<string | undefined, readonly Item[]> | undefined;

  constructor(items: readonly Item[]) {
    this.items = items;
  }

  /** JSON of the items, each followed by a comma. Encoded on first use. */
  get bytes(): Buffer {
    // The items keep their own bytes: a replaced item that the log still has must not keep the bytes of the whole block in memory.
    this.#bytes ??= Buffer.concat(this.items.flatMap(({ bytes }) => [bytes, COMMA]));
    return this.#bytes;
  }

  /** Returns the items of visible cluster sets, sorted by key. */
  findMembers(visibility: Visibility): readonly Item[] {
    this.#byClusterSet ??= Map.groupBy(this.items, ({ clusterSetName }) => clusterSetName);
    const members = [...this.#byClusterSet].flatMap(([name, items]) => (name !== undefined && visibility.includes(name) ? [items] : []));
    return members.length === 1 ? (members[0] ?? []) : members.flat().sort((a, b) => compareKeys(a.key, b.key));
  }

  /** Returns the index of the first item whose key is not less than `key`. */
  findLowerBound(key: string): number {
    let low = 0;
    let high = this.items.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareKeys(this.items[middle]!.key, key) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Yields the items of two sorted sequences in order, each once. */
function* mergeSorted(one: Generator<Item>, other: Generator<Item>): Generator<Item> {
  let [a, b] = [one.next(), other.next()];
  while (a.done !== true || b.done !== true) {
    const difference = a.done === true ? 1 : b.done === true ? -1 : compareKeys(a.value.key, b.value.key);
    yield (difference <= 0 ? a.value : b.value) as Item;
    if (difference <= 0) a = one.next();
    if (difference >= 0) b = other.next();
  }
}

/** Compares keys by bytes. They are ASCII, so code units are bytes. */
function compareKeys(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the JSON of an object, with sorted keys, in two parts: before and after the value of its resourceVersion. */
function encodeParts({ metadata, ...rest }: KubeObject): readonly [string, string] {
  const fields = Object.entries(metadata);
  const before = encodeGoJson(Object.fromEntries(fields.filter(([key]) => key < 'resourceVersion')));
  const after = encodeGoJson(Object.fromEntries(fields.filter(([key]) => key > 'resourceVersion')));
  const { apiVersion, kind, ...body } = rest;
  const head = `{"apiVersion":${encodeGoJsonString(apiVersion)},"kind":${encodeGoJsonString(kind)},"metadata":${removeEnd(before)}"resourceVersion":"`;
  return [head, `"${removeStart(after)}${removeStart(encodeGoJson(body))}`];
}

/** Returns the start of a JSON object, to which another field can be appended. */
function removeEnd(json: string): string {
  return json === '{}' ? '{' : `${json.slice(0, -1)},`;
}

/** Returns the end of a JSON object, to append after other fields. */
function removeStart(json: string): string {
  return json === '{}' ? '}' : `,${json.slice(1)}`;
}
