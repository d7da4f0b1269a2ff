// Decodes a custom resource: any JSON, pruned by its schema, with metadata decoded as a Go struct.

import { quoteGoString } from '../../std/go-text.ts';
import { type Fields, isFields, type KubeObject } from '../object.ts';
import { OBJECT_META } from '../schema/go-struct.ts';
import { prune } from '../schema/prune.ts';
import type { StatusError } from '../status.ts';
import { textOf } from '../untrusted.ts';
import { cannotBeHandled, decodeOrThrow, toFieldWarnings, unrecognized, versionMismatch } from './decode-error.ts';
import type { DecodedObject, DecodeRequest } from './decode-request.ts';
import { decodeTyped } from './decode-typed.ts';
import { formatMissingField, type TypedDocument } from './document.ts';
import { type GroupVersionKind, parseGroupVersion, withDefaultType } from './group-version-kind.ts';
import { findDuplicateFields, toNode, toValue } from './json-node.ts';

/** Decodes a document, or throws a StatusError (400). Accepts a wrong kind, which validation rejects later. */
export function decodeCustom(document: TypedDocument, request: DecodeRequest): DecodedObject {
  const { kind: expected, fieldValidation } = request;
  const object = toFields(document, request);
  const type = { ...parseGroupVersion(textOf(object['apiVersion'])), kind: textOf(object['kind']) };
  const toStatusError = (message: string): StatusError => cannotBeHandled(type, expected, message);
  const metadata = decodeOrThrow(() => decodeTyped(toNode(object['metadata']), OBJECT_META), toStatusError).value;
  const isExpected = type.group === expected.group && type.kind === expected.kind;
  const { value, unknown } = isExpected ? prune(object, expected.schema) : { value: object, unknown: [] };
  const errors = [...findDuplicateErrors(document), ...unknown.map((path) => `unknown field "${path}"`)];
  const warnings = toFieldWarnings(errors, fieldValidation, toStatusError);
  if (type.group !== expected.group || type.version !== expected.version) throw versionMismatch(type, expected);
  return { object: { ...value, metadata } as unknown as KubeObject, warnings };
}

/** Converts the document to plain fields; throws a StatusError (400) if it has no kind. */
function toFields({ node, type }: TypedDocument, { body, kind, fieldValidation }: DecodeRequest): Fields {
  const defaulted: GroupVersionKind = withDefaultType(type, kind);
  const value = decodeOrThrow(
    () => toValue(node),
    (message) => cannotBeHandled(defaulted, kind, message),
  );
  if (isFields(value) && textOf(value['kind']) !== '') return value;
  const message = formatMissingField('Kind', body);
  // Without field validation, another decoder of Kubernetes detects the missing kind, with another message.
  throw fieldValidation === 'Ignore' ? cannotBeHandled(defaulted, kind, message) : unrecognized(body, kind, message);
}

function findDuplicateErrors({ node, yamlDuplicates }: TypedDocument): string[] {
  if (yamlDuplicates !== undefined) return [yamlDuplicates];
  return findDuplicateFields(node).map((path) => `duplicate field ${quoteGoString(path)}`);
}
