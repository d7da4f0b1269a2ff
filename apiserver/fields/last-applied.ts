// The annotation in which `kubectl apply` keeps what it applied last, where server-side apply by kubectl takes it into account.

import { isFields, type KubeObject } from '../../src/kubernetes/object.ts';
import { goJson } from '../../src/std/go-text.ts';
import type { JsonObject } from '../same-value.ts';
import { compareObjects } from './comparison.ts';
import { difference, type FieldSet, NO_FIELDS, union } from './field-set.ts';
import { objectType } from './merge-type.ts';
import { ownedFields } from './owned-fields.ts';
import { typeProblems } from './type-check.ts';
import { type Typing, typedObject } from './typed-object.ts';

const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** The fields that client-side apply set and that still have the values it gave them. */
export function lastAppliedFields(live: KubeObject, typing: Typing): FieldSet {
  const text = live.metadata.annotations?.[LAST_APPLIED];
  const last = text === undefined ? undefined : parsed(text);
  if (last?.['apiVersion'] !== typing.apiVersion) return NO_FIELDS;
  const type = objectType(typing.schema);
  const now = typedObject(live, typing).value;
  if ([last, now].some((value) => typeProblems(type, value, { duplicates: 'refused' }) !== undefined)) return NO_FIELDS;
  const { removed, modified, added } = compareObjects(type, last, now);
  return difference(ownedFields(type, last), union(union(modified, added), removed));
}

/** `object` with the annotation brought up to date, if it has one. */
export function withLastApplied(object: KubeObject, applied: KubeObject): KubeObject {
  const annotations = object.metadata.annotations ?? {};
  if (!annotations[LAST_APPLIED]) return object;
  const updated = { ...annotations, [LAST_APPLIED]: `${goJson(withoutAnnotation(applied))}\n` };
  const bytes = Object.entries(updated).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value), 0);
  const fitting = bytes > MAX_ANNOTATION_BYTES ? without(updated, LAST_APPLIED) : updated;
  return { ...object, metadata: { ...object.metadata, annotations: fitting } };
}

function withoutAnnotation(applied: KubeObject): KubeObject {
  const annotations = applied.metadata?.annotations;
  if (annotations === undefined) return applied;
  return { ...applied, metadata: { ...applied.metadata, annotations: without(annotations, LAST_APPLIED) } };
}

function without(annotations: Readonly<Record<string, string>>, name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(annotations).filter(([other]) => other !== name));
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
