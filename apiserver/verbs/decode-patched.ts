// Decoding of patched and applied documents.

import { apiVersionOf, type Fields, type KubeObject, type ObjectMeta } from '../../src/kubernetes/object.ts';
import { OBJECT_META } from '../../src/kubernetes/schema/go-struct.ts';
import { prune, pruneUnknown } from '../../src/kubernetes/schema/prune.ts';
import { internalError, unclassified } from '../../src/kubernetes/status.ts';
import { findTypeProblem } from '../../src/kubernetes/wire/decode-error.ts';
import { decodeTyped } from '../../src/kubernetes/wire/decode-typed.ts';
import { formatMissingField, readDocument } from '../../src/kubernetes/wire/document.ts';
import { withDefaultType } from '../../src/kubernetes/wire/group-version-kind.ts';
import { type JsonNode, toNode, toValue } from '../../src/kubernetes/wire/json-node.ts';
import type { Kind } from '../kinds/kind.ts';

export interface DecodedDocument {
  readonly object: KubeObject;
  /** Errors of strict decoding, such as `unknown field "spec.x"`. */
  readonly strictErrors: readonly string[];
}

export type IsRegistered = (group: string, version: string, kind: string) => boolean;

/** Decodes the result of a JSON or merge patch. Throws an Error with Go's message if the result cannot be decoded. */
export function decodePatchedText(text: string, kind: Kind, isRegistered: IsRegistered): DecodedDocument {
  const body = Buffer.from(text);
  const { node, type } = readDocument(body, 'json');
  if (kind.builtIn) {
    const problem = findTypeProblem(withDefaultType(type, kind), kind, isRegistered);
    if (problem !== undefined) throw new Error(problem);
    return decodeBuiltIn(node, kind);
  }
  if (type.kind === '') throw new Error(formatMissingField('Kind', body));
  if (type.version === '') throw internalError("Object 'apiVersion' is missing in 'object has no apiVersion field'");
  return decodeCustom(toValue(node) as Fields, kind, prune);
}

/** Decodes the result of a strategic merge patch as an object of the kind; ignores its apiVersion and kind. */
export function decodeStrategic(document: Fields, kind: Kind): DecodedDocument {
  try {
    const { object, strictErrors } = decodeBuiltIn(toNode(document), kind);
    return { object, strictErrors: strictErrors.toSorted() };
  } catch (error) {
    throw new Error(formatConversionProblem(error), { cause: error });
  }
}

/** Decodes the result of an apply. Like kube-apiserver, keeps nulls in custom resources, so that validation can reject them. */
export function decodeApplied(document: KubeObject, kind: Kind): KubeObject {
  const fields = document as unknown as Fields;
  if (!kind.builtIn) return decodeCustom(fields, kind, pruneUnknown).object;
  try {
    return decodeBuiltIn(toNode(fields), kind).object;
  } catch (error) {
    const { namespace = '', name = '' } = document.metadata;
    const type = `${kind.group}/${kind.version}, Kind=${kind.kind}`;
    const conversion = `unable to convert unstructured object to ${type}: ${formatConversionProblem(error)}`;
    throw unclassified(`failed to convert new object (${namespace}/${name}; ${type}) to proper version: ${conversion}`);
  }
}

/** Returns the message of a conversion error, with kube-apiserver's prefix for invalid base64. */
function formatConversionProblem(error: unknown): string {
  const { message } = error as Error;
  return message.startsWith('illegal base64') ? `error decoding from json: ${message}` : message;
}

function decodeBuiltIn(node: JsonNode, kind: Kind): DecodedDocument {
  const { value, strictErrors } = decodeTyped(node, kind.schema);
  const metadata = (value['metadata'] ?? {}) as ObjectMeta;
  return { object: { ...value, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }, strictErrors };
}

function decodeCustom(fields: Fields, kind: Kind, pruneFields: typeof pruneUnknown): DecodedDocument {
  const metadata = decodeTyped(toNode(fields['metadata']), OBJECT_META).value;
  const { value, unknown } = pruneFields(fields, kind.schema);
  const object = { ...value, metadata } as unknown as KubeObject;
  return { object, strictErrors: unknown.map((path) => `unknown field "${path}"`) };
}
