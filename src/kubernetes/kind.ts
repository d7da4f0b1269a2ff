// Representation and selection of the objects of a kind.

import type { KubeObject } from './object.ts';
import type { Schema } from './schema/schema.ts';

/** A kind with the parts that the representation of its objects needs. */
export interface ServedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** True for a built-in kind: a Go struct on the wire (declared key order). Others are maps (sorted keys). */
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
  /** Style of the error for a field that is not selectable; Kubernetes has another message for some kinds. */
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
