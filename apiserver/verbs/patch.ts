// JSON, merge and strategic merge patches: applies the patch to the live object, then stores the result as an update.

import { invalidValue } from '../../src/kubernetes/field-error.ts';
import type { Fields, KubeObject } from '../../src/kubernetes/object.ts';
import { badRequest, invalid, notFound, StatusError } from '../../src/kubernetes/status.ts';
import type { PatchType } from '../../src/kubernetes/wire/content-type.ts';
import { encodeObjectJson } from '../../src/kubernetes/wire/encode.ts';
import { findDuplicateFields, type JsonNode, toValue } from '../../src/kubernetes/wire/json-node.ts';
import { parseJson } from '../../src/kubernetes/wire/json-parse.ts';
import type { FieldValidation } from '../../src/kubernetes/wire/options.ts';
import { encodeOrderedJson } from '../../src/kubernetes/wire/ordered-json.ts';
import { quoteGoString } from '../../src/std/go-text.ts';
import { formatGoValue } from '../fields/go-print.ts';
import { applyJsonPatch, applyMergePatch } from '../fields/json-patch.ts';
import { applyStrategicMergePatch } from '../fields/strategic-merge.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Api, openStore, type RequestTarget, toResourceName, type Writer } from './api.ts';
import { withNamespace } from './create.ts';
import { type DecodedDocument, decodePatchedText, decodeStrategic, type IsRegistered } from './decode-patched.ts';
import { trackFields } from './field-tracking.ts';
import { checkName, replaceObject } from './update.ts';

export interface Patch {
  readonly type: Exclude<PatchType, 'application/apply-patch+yaml'>;
  readonly body: Buffer;
  readonly fieldValidation: FieldValidation;
}

export function patchObject(api: Api, target: RequestTarget, patch: Patch, writer: Writer): KubeObject {
  const { kind, namespace, name } = target;
  const live = openStore(api, kind).get(namespace, name);
  if (live === undefined) throw notFound(toResourceName(kind), name);
  const decoded = decodePatched(patchLive(api, kind, live, patch), patch.fieldValidation, writer);
  const next = withNamespace(checkName(kind.rules.applyDefaults(decoded), name), kind, namespace);
  return replaceObject(api, target, { live, next: trackFields(api, target, { live, next, writer }) }, writer);
}

interface PatchResult {
  /** Errors about repeated fields of a merge patch, such as `duplicate field "spec.x"`; empty for JSON patches. */
  readonly problems: readonly string[];
  /** Text that decoding errors quote: the patched document, or the patch itself for strategic merge patches. */
  readonly quoted: string;
  readonly decode: () => DecodedDocument;
}

function patchLive(api: Api, kind: Kind, live: KubeObject, { type, body }: Patch): PatchResult {
  const document = toValue(
    parseJson(Buffer.from(encodeObjectJson(live, kind.builtIn ? kind.schema : undefined)), Number.POSITIVE_INFINITY),
  ) as Fields;
  const node = parsePatch(body, type);
  const change = toValue(node);
  if (type === 'application/strategic-merge-patch+json') {
    const merged = applyStrategicMergePatch(document, change, kind.schema) as Fields;
    return { problems: formatDuplicates(node), quoted: formatGoValue(change), decode: () => decodeStrategic(merged, kind) };
  }
  const isJsonPatch = type === 'application/json-patch+json';
  const quoted = encodeOrderedJson(isJsonPatch ? applyJsonPatch(document, change) : applyMergePatch(document, change));
  const isRegistered: IsRegistered = (group, version, name) => api.registry.findKind(group, version, name) !== undefined;
  return {
    problems: isJsonPatch ? [] : formatDuplicates(node),
    quoted,
    decode: () => decodePatchedText(quoted, kind, isRegistered),
  };
}

function formatDuplicates(patch: JsonNode): readonly string[] {
  return findDuplicateFields(patch).map((path) => `duplicate field ${quoteGoString(path)}`);
}

function parsePatch(body: Buffer, type: Patch['type']): JsonNode {
  try {
    return parseJson(body);
  } catch (error) {
    const isStrategic = type === 'application/strategic-merge-patch+json';
    throw badRequest(`${isStrategic ? '' : 'error decoding patch: '}${(error as Error).message}`);
  }
}

/** Decodes the patched document. Throws 422 if the document cannot be decoded, or if strict validation fails. */
function decodePatched({ problems, quoted, decode }: PatchResult, validation: FieldValidation, writer: Writer): KubeObject {
  const { object, strictErrors } = decodeOrReject(decode, quoted);
  const found = [...new Set([...problems, ...strictErrors])];
  if (validation === 'Warn') found.forEach(writer.warn);
  if (validation === 'Strict' && found.length > 0) throw invalidPatch(quoted, `strict decoding error: ${found.join(', ')}`);
  return object;
}

function decodeOrReject(decode: () => DecodedDocument, quoted: string): DecodedDocument {
  try {
    return decode();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw invalidPatch(quoted, (error as Error).message);
  }
}

function invalidPatch(quoted: string, detail: string): Error {
  return invalid({ group: '', name: '' }, '', [invalidValue('patch', quoted, detail)]);
}
