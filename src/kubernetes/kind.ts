// Properties of a kind that are needed to encode and select its objects.

import type { KubeObject } from './object.ts';
import type { Schema } from './schema/schema.ts';

/** A kind, with the properties for encoding its objects as JSON or as table rows. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** True for a built-in kind, whose keys are encoded in the order of its Go struct. The keys of other kinds are sorted. */
  readonly builtIn: boolean;
  /** Schema of the whole object, including metadata. */
  readonly schema: Schema;
  readonly table: Table;
}

/** Selectable fields of a kind. */
export interface SelectableKind {
  readonly namespaced: boolean;
  /** Fields for field selectors besides metadata.name and, for namespaced kinds, metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, (object: KubeObject) => string>>;
  /**
   * Variant of Kubernetes' error for a field that is not selectable: `generic` for a built-in kind without selectable fields of its own,
   * otherwise `named`.
   */
  readonly fieldLabelErrors: 'generic' | 'named';
}

export interface Table {
  readonly columns: readonly TableColumn[];
  /** Returns the cells of one object; `now` is the current time, for ages. */
  cells(object: KubeObject, now: number): readonly unknown[];
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}
