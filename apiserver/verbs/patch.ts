// JSON patch, merge patch and strategic merge patch: the live object, changed, and then an update like any other.

import { invalidValue } from '../../src/kubernetes/field-error.ts';
import type { Fields, KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest, invalid, notFound, StatusError } from '../../src/kubernetes/status.ts';
import type { PatchType } from '../../src/kubernetes/wire/content-type.ts';
import { objectText } from '../../src/kubernetes/wire/encode.ts';
import { duplicateFields, type JsonNode, toValue } from '../../src/kubernetes/wire/json-node.ts';
import { parseJson } from '../../src/kubernetes/wire/json-parse.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
import { goQuote } from '../../src/std/go-text.ts';
import { goPrint } from '../fields/go-print.ts';
import { jsonPatch, jsonPatchProblems, type PatchReading } from '../fields/json-patch.ts';
import { mergePatch } from '../fields/merge-patch.ts';
import { strategicMerge } from '../fields/strategic-merge.ts';
import type { Kind } from '../kinds/kind.ts';
import { deduplicateOwners } from '../kinds/lifecycle.ts';
import { type Api, resourceName, storeOf, type Target, type Writer } from './api.ts';
import { inNamespace } from './create.ts';
import { type DecodedDocument, decodePatchedText, decodeStrategic, type IsRegistered } from './patched-object.ts';
import { patchedText } from './patched-text.ts';
import { tracked } from './tracked.ts';
import { checkName, replaceObject } from './update.ts';

export interface Patch {
  readonly type: Exclude<PatchType, 'application/apply-patch+yaml'>;
  readonly body: Buffer;
  readonly fieldValidation: FieldValidation;
}

export function patchObject(api: Api, target: Target, patch: Patch, writer: Writer): KubeObject {
  const { kind, namespace, name } = target;
  const live = storeOf(api, kind).get(namespace, name);
  if (live === undefined) throw notFound(resourceName(kind), name);
  const decoded = decodePatched(patched(api, kind, live, patch), patch.fieldValidation, writer);
  const named = inNamespace(checkName(kind.rules.defaulted(decoded), name), kind, namespace);
  const { object: next, warnings } = deduplicateOwners(named, 'patch');
  warnings.forEach(writer.warn);
  return replaceObject(api, target, { live, next: tracked(api, target, { live, next, writer }) }, writer);
}

interface Patched {
  /** What a strict reader objects to in the patch itself. */
  readonly problems: readonly string[];
  /** What the server shows when the outcome is no object of the kind. */
  readonly shown: string;
  readonly decode: () => DecodedDocument;
}

function patched(api: Api, kind: Kind, live: KubeObject, { type, body, fieldValidation }: Patch): Patched {
  const reading = fieldValidation === 'Ignore' ? 'lax' : 'strict';
  const document = toValue(
    parseJson(Buffer.from(objectText(live, kind.builtIn ? kind.schema : undefined)), Number.POSITIVE_INFINITY),
  ) as Fields;
  const node = parsePatch(body, type, reading);
  const change = toValue(node);
  if (type === 'application/strategic-merge-patch+json') {
    const merged = strategicMerge(document, change, kind.schema) as Fields;
    return { problems: repeatedFields(node), shown: goPrint(change), decode: () => decodeStrategic(merged, kind) };
  }
  const isJsonPatch = type === 'application/json-patch+json';
  const shown = isJsonPatch
    ? patchedText(jsonPatch(document, change, reading), [document, change])
    : patchedText(mergePatch(document, change, reading), [document]);
  const isRegistered: IsRegistered = (group, version, name) => api.registry.isRegistered(group, version, name);
  return {
    problems: isJsonPatch ? jsonPatchProblems(node) : repeatedFields(node),
    shown,
    decode: () => decodePatchedText(shown, kind, isRegistered),
  };
}

function repeatedFields(patch: JsonNode): readonly string[] {
  return duplicateFields(patch).map((path) => `duplicate field ${goQuote(path)}`);
}

function parsePatch(body: Buffer, type: Patch['type'], reading: PatchReading): JsonNode {
  try {
    return parseJson(body);
  } catch (error) {
    if (type === 'application/merge-patch+json' && reading === 'lax') throw badRequest('Invalid JSON Patch');
    const isQuoted = reading === 'lax' || type === 'application/strategic-merge-patch+json';
    throw badRequest(`${isQuoted ? '' : 'error decoding patch: '}${(error as Error).message}`);
  }
}

/** The patched document as an object of the kind; 422 about the whole patch when it is none. */
function decodePatched({ problems, shown, decode }: Patched, validation: FieldValidation, writer: Writer): KubeObject {
  const { object, strictErrors } = decodedOr422(decode, shown);
  const found = [...new Set([...problems, ...strictErrors])];
  if (validation === 'Warn') found.forEach(writer.warn);
  if (validation === 'Strict' && found.length > 0) throw invalidPatch(shown, `strict decoding error: ${found.join(', ')}`);
  return object;
}

function decodedOr422(decode: () => DecodedDocument, shown: string): DecodedDocument {
  try {
    return decode();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw invalidPatch(shown, (error as Error).message);
  }
}

function invalidPatch(shown: string, why: string): Error {
  return invalid({ group: '', name: '' }, '', [invalidValue('patch', shown, why)]);
}
