// A document that a patch or an apply has produced, as an object of its kind: pruned, typed, canonical.

import { OBJECT_META } from '../kinds/go-struct.ts';
import type { Kind } from '../kinds/kind.ts';
import { type Fields, isFields, type KubeObject, type ObjectMeta } from '../object.ts';
import { prune } from '../schema/prune.ts';
import { decodeTyped } from '../wire/decode-typed.ts';
import { toNode } from '../wire/json-node.ts';
import { apiVersionOf } from './api.ts';

export interface DecodedDocument {
  readonly object: KubeObject;
  /** `unknown field "spec.x"`. */
  readonly strictErrors: readonly string[];
}

/** Decodes a document, or throws an Error in Go's words when it is not of the kind. */
export function decodeDocument(document: unknown, kind: Kind): DecodedDocument {
  const fields: Fields = isFields(document) ? document : {};
  return kind.builtIn ? decodeBuiltIn(fields, kind) : decodeCustom(fields, kind);
}

function decodeBuiltIn(fields: Fields, kind: Kind): DecodedDocument {
  checkType(fields, kind);
  const { value, strictErrors } = decodeTyped(toNode(fields), kind.schema);
  const metadata = (value['metadata'] ?? {}) as ObjectMeta;
  return { object: { ...value, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }, strictErrors };
}

function decodeCustom(fields: Fields, kind: Kind): DecodedDocument {
  const metadata = decodeTyped(toNode(fields['metadata']), OBJECT_META).value;
  const { value, unknown } = prune(fields, kind.schema);
  const object = { ...value, metadata } as unknown as KubeObject;
  return { object, strictErrors: unknown.map((path) => `unknown field "${path}"`) };
}

function checkType({ apiVersion, kind }: Fields, expected: Kind): void {
  if (apiVersion === apiVersionOf(expected) && kind === expected.kind) return;
  throw new Error(
    `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme "pkg/api/legacyscheme/scheme.go:30"`,
  );
}
