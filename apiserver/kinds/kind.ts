// Kinds: names, schema and lifecycle rules, for built-in kinds and for kinds that CustomResourceDefinitions define.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { SelectableKind, ServedKind } from '../../src/kubernetes/kind.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { keepSystemMetadata, validateCommonMetadata, validateCommonMetadataUpdate } from './metadata.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

export interface Kind extends ServedKind, SelectableKind {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly Verb[];
  readonly subresources: readonly Subresource[];
  readonly rules: Rules;
  /** Reason to reject creates while the definition of the kind is terminating; absent otherwise. */
  readonly createRejection?: string;
  /** Converts a stored object to the current schema; absent for built-in kinds, whose schema never changes. */
  readonly fromStored?: (stored: KubeObject) => KubeObject;
}

/** Returns the resource of a kind, as in the store: `secrets`, or `coordination.k8s.io/leases`. */
export function toResource({ group, plural }: Pick<Kind, 'group' | 'plural'>): string {
  return group === '' ? plural : `${group}/${plural}`;
}

export interface Subresource {
  readonly name: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly verbs: readonly string[];
}

/** Lifecycle rules of a kind. Every function is pure; validations include metadata. */
export interface Rules {
  /** Fills in the defaults of a decoded object. */
  applyDefaults(object: KubeObject): KubeObject;
  /** Drops fields that a create must not set, and adds fields that the server sets. */
  prepareForCreate(object: KubeObject): KubeObject;
  /** Keeps fields that an update must not change, and increments the generation of a changed object if the kind has generations. */
  prepareForUpdate(next: KubeObject, old: KubeObject): KubeObject;
  /** Keeps all fields that an update of the status subresource must not change: all except the status and some metadata. */
  prepareForStatusUpdate(next: KubeObject, old: KubeObject): KubeObject;
  validate(object: KubeObject): readonly FieldError[];
  validateUpdate(next: KubeObject, old: KubeObject): readonly FieldError[];
  validateStatusUpdate(next: KubeObject, old: KubeObject): readonly FieldError[];
  /** Returns a deleted object, marked as terminating; absent for kinds that need only the common deletion metadata. */
  toTerminating?(object: KubeObject, deletedAt: string): KubeObject;
  /** Returns the finalizers outside the metadata; absent for kinds other than Namespace. */
  ownFinalizers?(object: KubeObject): readonly string[];
  /** True if the server accepts a PUT without resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** True if the DELETE that removes an object returns the object instead of a Status. */
  readonly deleteReturnsObject: boolean;
}

export interface KindDeclaration
  extends Pick<Kind, 'kind' | 'namespaced' | 'schema' | 'table'>,
    Partial<
      Pick<Kind, 'group' | 'plural' | 'shortNames' | 'categories' | 'verbs' | 'subresources' | 'selectableFields' | 'fieldLabelErrors'>
    > {
  readonly strategy: Strategy;
}

/** Rules of a kind that differ from the common rules. In `prepareFor…Update`, `next` already has the system metadata of `old`. */
export type Strategy = Partial<Rules> & Pick<Rules, 'validate' | 'validateUpdate'>;

const ALL_VERBS: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Creates a built-in kind; fills in undeclared properties. */
export function createBuiltInKind({ strategy, ...declared }: KindDeclaration): Kind {
  const singular = declared.kind.toLowerCase();
  return {
    group: '',
    version: 'v1',
    listKind: `${declared.kind}List`,
    plural: `${singular}s`,
    singular,
    shortNames: [],
    categories: [],
    verbs: ALL_VERBS,
    builtIn: true,
    subresources: [],
    selectableFields: {},
    fieldLabelErrors: declared.selectableFields === undefined ? 'generic' : 'named',
    ...declared,
    rules: toRules(strategy, declared.namespaced),
  };
}

function toRules(strategy: Strategy, namespaced: boolean): Rules {
  const same = (object: KubeObject) => object;
  const prepareForUpdate = strategy.prepareForUpdate ?? same;
  const prepareForStatusUpdate = strategy.prepareForStatusUpdate ?? same;
  const validateStatusUpdate = strategy.validateStatusUpdate ?? strategy.validateUpdate;
  return {
    unconditionalUpdate: true,
    deleteReturnsObject: false,
    ...strategy,
    applyDefaults: strategy.applyDefaults ?? same,
    prepareForCreate: strategy.prepareForCreate ?? same,
    prepareForUpdate: (next, old) => prepareForUpdate(keepSystemMetadata(next, old), old),
    prepareForStatusUpdate: (next, old) => prepareForStatusUpdate(keepSystemMetadata(next, old), old),
    validate: (object) => {
      const errors = strategy.validate(object);
      return errors.length > 0 ? errors : validateCommonMetadata(object, namespaced);
    },
    validateUpdate: (next, old) => [...validateCommonMetadataUpdate(next, old, namespaced), ...strategy.validateUpdate(next, old)],
    validateStatusUpdate: (next, old) => [...validateCommonMetadataUpdate(next, old, namespaced), ...validateStatusUpdate(next, old)],
  };
}
