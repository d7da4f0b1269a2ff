// Which kinds exist now: the built-in ones, and those of CustomResourceDefinitions as they come and go.

import type { Kind } from './kind.ts';

export class Registry {
  /** By group and plural; one entry per served version. */
  readonly #resources = new Map<string, readonly Kind[]>();
  #all: readonly Kind[] = [];

  constructor(builtIn: readonly Kind[]) {
    for (const [resource, kinds] of Map.groupBy(builtIn, resourceOf)) this.#resources.set(resource, kinds);
    this.#all = [...this.#resources.values()].flat();
  }

  /** Makes `kinds`, one per served version, all that is known of a resource; none of them removes it. */
  set(group: string, plural: string, kinds: readonly Kind[]): void {
    const resource = resourceOf({ group, plural });
    if (kinds.length === 0) this.#resources.delete(resource);
    else this.#resources.set(resource, kinds);
    this.#all = [...this.#resources.values()].flat();
  }

  /** Every version of every kind. The same array until something changes. */
  all(): readonly Kind[] {
    return this.#all;
  }

  find(group: string, version: string, plural: string): Kind | undefined {
    return this.versionsOf(group, plural).find((kind) => kind.version === version);
  }

  /** The versions in which a resource is served. */
  versionsOf(group: string, plural: string): readonly Kind[] {
    return this.#resources.get(resourceOf({ group, plural })) ?? [];
  }

  /** The kind that objects with this type belong to. */
  findKind(group: string, version: string, kind: string): Kind | undefined {
    return this.#all.find((each) => each.group === group && each.version === version && each.kind === kind);
  }

  kindsOf(group: string, version: string): readonly Kind[] {
    return this.#all.filter((kind) => kind.group === group && kind.version === version);
  }

  /** Groups with at least one kind, the core group (`''`) included. */
  groups(): readonly string[] {
    return [...new Set(this.#all.map((kind) => kind.group))];
  }

  isRegistered(group: string, version: string, kind: string): boolean {
    return this.findKind(group, version, kind) !== undefined;
  }
}

function resourceOf({ group, plural }: Pick<Kind, 'group' | 'plural'>): string {
  return `${group}/${plural}`;
}
