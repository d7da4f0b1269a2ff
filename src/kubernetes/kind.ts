// Representation and selection of the objects of a kind.

import type { KubeObject } from './object.ts';
import type { Schema } from './schema/schema.ts';

/** Representation of the objects of a kind. */
export interface ShownKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** Built-in kinds are Go structs on the wire (declared key order); others are maps (sorted keys). */
  readonly builtIn: boolean;
  /** Schema of the whole object, metadata included. */
  readonly schema: Schema;
  readonly table: Table;
}

/** By what objects of a kind are selected. */
export interface SelectableKind {
  readonly namespaced: boolean;
  /** Fields that a field selector may name, besides metadata.name and, where the kind knows it, metadata.namespace. */
  readonly selectableFields: Readonly<Record<string, (object: KubeObject) => string>>;
  /** The names under which this kind's errors list the fields that can be selected; Kubernetes words them by kind. */
  readonly fieldLabelErrors: 'generic' | 'named';
}

export interface Table {
  readonly columns: readonly TableColumn[];
  /** The cells of one object; `now` makes ages. */
  cells(object: KubeObject, now: number): readonly unknown[];
}

export interface TableColumn {
  readonly name: string;
  readonly type: string;
  readonly format: string;
  readonly description: string;
  readonly priority: number;
}
