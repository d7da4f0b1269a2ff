// Selection of objects in a list or a watch.

import { quoteGoString } from '../std/go-text.ts';
import type { SelectableKind } from './kind.ts';
import type { KubeObject } from './object.ts';
import { type FieldSelector, findRequiredName, matchesFields, parseFieldSelector } from './selectors/field-selector.ts';
import { type LabelSelector, matchesLabels, parseLabelSelector } from './selectors/label-selector.ts';
import { isEverything, SelectorError } from './selectors/selector.ts';
import { badRequest } from './status.ts';

export interface Selectors {
  readonly labels: LabelSelector;
  readonly fields: FieldSelector;
}

/** Parses both selectors. Throws 400 with Kubernetes' message if one of them is invalid. */
export function parseSelectors(labelSelector: string, fieldSelector: string): Selectors {
  try {
    return { labels: parseLabelSelector(labelSelector), fields: parseFieldSelector(fieldSelector) };
  } catch (error) {
    throw error instanceof SelectorError ? badRequest(error.message) : error;
  }
}

export class Selection {
  /** True if both selectors are empty. The selection can still be restricted to a namespace. */
  readonly isEverything: boolean;
  /** True if the selection names one object. */
  readonly isOneObject: boolean;
  readonly #kind: SelectableKind;
  readonly #selectors: Selectors;
  readonly #namespace: string;

  /** Creates a selection; `namespace` is empty for all namespaces. Throws 400 for fields that are not selectable for the kind. */
  constructor(kind: SelectableKind, selectors: Selectors, namespace: string) {
    for (const { field } of selectors.fields) if (!isSelectable(kind, field)) throw unsupportedField(kind, field);
    this.#kind = kind;
    this.#selectors = selectors;
    this.#namespace = namespace;
    this.isOneObject = findRequiredName(selectors.fields) !== undefined && (namespace !== '' || !kind.namespaced);
    this.isEverything = isEverything(selectors.labels) && isEverything(selectors.fields);
  }

  matches(object: KubeObject): boolean {
    const { labels, fields } = this.#selectors;
    return (
      (this.#namespace === '' || object.metadata.namespace === this.#namespace) &&
      matchesLabels(labels, object.metadata.labels) &&
      matchesFields(fields, (field) => fieldOf(this.#kind, object, field))
    );
  }
}

function isSelectable(kind: SelectableKind, field: string): boolean {
  if (field === 'metadata.name') return true;
  // Kubernetes accepts metadata.namespace for built-in kinds without selectable fields of their own, even for cluster-scoped ones.
  if (field === 'metadata.namespace') return kind.namespaced || kind.fieldLabelErrors === 'generic';
  return Object.hasOwn(kind.selectableFields, field);
}

function fieldOf(kind: SelectableKind, object: KubeObject, field: string): string {
  if (field === 'metadata.name') return object.metadata.name ?? '';
  if (field === 'metadata.namespace') return object.metadata.namespace ?? '';
  return kind.selectableFields[field]?.(object) ?? '';
}

function unsupportedField(kind: SelectableKind, field: string): Error {
  if (kind.fieldLabelErrors === 'named') return badRequest(`field label not supported: ${field}`);
  return badRequest(`${quoteGoString(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`);
}
