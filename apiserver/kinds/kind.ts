// What the API server knows of one kind of object: names, schema, and the rules of its life.
// Built-in kinds and kinds that come from CRDs are told apart here and nowhere else.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { SelectableKind, ShownKind } from '../../src/kubernetes/kind.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export interface Kind extends ShownKind, SelectableKind {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly Verb[];
  readonly subresources: readonly Subresource[];
  readonly rules: Rules;
  /** The version under which objects are stored, where that is another one. */
  readonly storageVersion?: string;
  /** What every request to a deprecated version is told. */
  readonly deprecationWarning?: string;
  /** Why nothing is created any more: the definition of the kind is going. */
  readonly creationRefusal?: string;
  /** Other API versions of the same stored object (events): how to read and write it. Absent: stored as it is. */
  readonly conversion?: Conversion;
}

export interface Subresource {
  readonly name: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly verbs: readonly string[];
  /** Paths of the fields that it does not write, where they are not those that its like does not write. */
  readonly resets?: readonly (readonly string[])[];
}

/** The rules of an object's life; every function is pure. The validations are complete, metadata included. */
export interface Rules {
  /** Fills in defaults after decoding, on create and on every change. */
  defaulted(object: KubeObject): KubeObject;
  /** Drops what a create may not set and adds what a create must have. */
  prepareForCreate(object: KubeObject): KubeObject;
  /** Keeps what an update may not change, and counts the generation where the kind has one. */
  prepareForUpdate(next: KubeObject, old: KubeObject): KubeObject;
  /** The same for the status subresource: everything but status (and some metadata) stays. */
  prepareForStatusUpdate(next: KubeObject, old: KubeObject): KubeObject;
  validate(object: KubeObject): readonly FieldError[];
  validateUpdate(next: KubeObject, old: KubeObject): readonly FieldError[];
  validateStatusUpdate(next: KubeObject, old: KubeObject): readonly FieldError[];
  /** For kinds whose deletion is a process of its own (namespaces, CRDs): the object once it has begun. */
  terminating?(object: KubeObject, deletedAt: string): KubeObject;
  /** Finalizers that a kind keeps outside its metadata (namespaces). */
  ownFinalizers?(object: KubeObject): readonly string[];
  /** Warnings for the writer. */
  warnings(next: KubeObject, old?: KubeObject): readonly string[];
  /** Whether a PUT without resourceVersion is taken. */
  readonly unconditionalUpdate: boolean;
  /** Whether a PUT creates a missing object. */
  readonly createOnUpdate: boolean;
  /** Whether DELETE answers with the object instead of a Status. */
  readonly deleteReturnsObject: boolean;
  /** Whether objects of this kind count a generation. */
  readonly hasGeneration: boolean;
  /** Namespaces alone: updates of the finalize subresource, which may drop `spec.finalizers`. */
  readonly finalize?: Pick<Rules, 'prepareForUpdate' | 'validateUpdate'>;
}

export interface Conversion {
  /** The kind under which objects are stored. */
  readonly storedAs: { readonly group: string; readonly plural: string };
  fromStored(object: KubeObject): KubeObject;
  toStored(object: KubeObject): KubeObject;
}
