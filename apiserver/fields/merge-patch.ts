// JSON merge patches (RFC 7386) as Kubernetes applies them.

import { isFields } from '../../src/kubernetes/object.ts';
import { badRequest } from '../../src/kubernetes/status.ts';
import { fieldOf, type JsonObject } from '../same-value.ts';
import type { PatchReading } from './json-patch.ts';
import { jsonTypeName } from './json-type.ts';

/** The document after the patch. Throws the API error of a patch that is not an object. */
export function mergePatch(document: JsonObject, patch: unknown, reading: PatchReading = 'strict'): unknown {
  if (isFields(patch)) return merged(document, patch);
  if (reading === 'strict' && patch !== null) {
    throw badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type map[string]interface {}`);
  }
  if (Array.isArray(patch)) return withoutNulls(patch);
  throw badRequest('Invalid JSON Patch');
}

function merged(target: unknown, patch: unknown): unknown {
  if (!isFields(target)) return withoutNulls(patch);
  if (!isFields(patch)) return patch;
  const kept = Object.entries(target).filter(([name]) => fieldOf(patch, name) === undefined);
  const changed = Object.entries(patch).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries([...kept, ...changed.map(([name, value]) => [name, merged(fieldOf(target, name), value)] as const)]);
}

/** What replaces something else has no nulls in its objects, not even in those of a list. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isFields(value)) return value;
  const present = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(present.map(([name, field]) => [name, withoutNulls(field)]));
}
