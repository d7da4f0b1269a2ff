// Reads JSON as Go's encoding/json does: the same texts are refused, in the same words.

import type { Value } from '../object.ts';

/** A JSON document as it was written: entries in order, repeated keys and the text of numbers kept. */
export type JsonNode =
  | { readonly type: 'object'; readonly entries: readonly JsonEntry[] }
  | { readonly type: 'array'; readonly items: readonly JsonNode[] }
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'number'; readonly text: string }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'null' };

export interface JsonEntry {
  readonly key: string;
  readonly value: JsonNode;
}

/** Parses a whole document, or throws an Error whose message is Go's. */
export declare function parseJson(body: Uint8Array): JsonNode;

/** The plain value of a document; the last of repeated keys wins. Objects have no prototype. */
export declare function toValue(node: JsonNode): Value;

/** The paths of repeated fields, in the order of the document. */
export declare function duplicateFields(node: JsonNode): string[];
