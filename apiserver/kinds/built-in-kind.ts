// How a built-in kind is put together: what most of them have in common is filled in here.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { Kind, Rules, Verb } from './kind.ts';
import { keepSystemMetadata } from './lifecycle.ts';
import { validateAnyMetadata, validateAnyMetadataUpdate } from './metadata.ts';

/** A kind as its file declares it. */
export interface Declaration
  extends Pick<Kind, 'kind' | 'namespaced' | 'schema' | 'table'>,
    Partial<
      Pick<
        Kind,
        'group' | 'plural' | 'shortNames' | 'categories' | 'verbs' | 'subresources' | 'selectableFields' | 'fieldLabelErrors' | 'conversion'
      >
    > {
  readonly strategy: Strategy;
}

type Step = (object: KubeObject) => KubeObject;
type Change = (next: KubeObject, old: KubeObject) => KubeObject;
type UpdateCheck = (next: KubeObject, old: KubeObject) => readonly FieldError[];

/** The rules of one kind, as far as they differ from those of all kinds. */
export interface Strategy extends Partial<Pick<Rules, SelfContained>> {
  readonly defaulted?: Step;
  readonly prepareForCreate?: Step;
  /** Gets `next` with the system's metadata already kept. */
  readonly prepareForUpdate?: Change;
  readonly prepareForStatusUpdate?: Change;
  /** Metadata included, as this kind demands it. */
  readonly validate: (object: KubeObject) => readonly FieldError[];
  readonly validateUpdate: UpdateCheck;
  readonly validateStatusUpdate?: UpdateCheck;
  readonly warnings?: (next: KubeObject, old?: KubeObject) => readonly string[];
}

/** Rules that a kind may state as they are. */
type SelfContained =
  | 'unconditionalUpdate'
  | 'createOnUpdate'
  | 'deleteReturnsObject'
  | 'hasGeneration'
  | 'terminating'
  | 'ownFinalizers'
  | 'finalize';

const ALL_VERBS: readonly Verb[] = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Completes a declaration. */
export function builtInKind({ strategy, ...declared }: Declaration): Kind {
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
    rules: rulesOf(strategy, declared.namespaced),
  };
}

function rulesOf(strategy: Strategy, namespaced: boolean): Rules {
  const same = (object: KubeObject) => object;
  const prepareForUpdate = strategy.prepareForUpdate ?? same;
  const prepareForStatusUpdate = strategy.prepareForStatusUpdate ?? same;
  const validateStatusUpdate = strategy.validateStatusUpdate ?? strategy.validateUpdate;
  return {
    unconditionalUpdate: true,
    createOnUpdate: false,
    deleteReturnsObject: false,
    hasGeneration: false,
    ...strategy,
    defaulted: strategy.defaulted ?? same,
    prepareForCreate: strategy.prepareForCreate ?? same,
    prepareForUpdate: (next, old) => prepareForUpdate(keepSystemMetadata(next, old), old),
    prepareForStatusUpdate: (next, old) => prepareForStatusUpdate(keepSystemMetadata(next, old), old),
    validate: (object) => firstFound(strategy.validate(object), () => validateAnyMetadata(object, namespaced)),
    validateUpdate: (next, old) => [...validateAnyMetadataUpdate(next, old, namespaced), ...strategy.validateUpdate(next, old)],
    validateStatusUpdate: (next, old) => [...validateAnyMetadataUpdate(next, old, namespaced), ...validateStatusUpdate(next, old)],
    warnings: strategy.warnings ?? (() => []),
  };
}

function firstFound(errors: readonly FieldError[], otherwise: () => readonly FieldError[]): readonly FieldError[] {
  return errors.length > 0 ? errors : otherwise();
}
