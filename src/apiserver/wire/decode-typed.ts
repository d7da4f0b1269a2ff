// Decodes a JSON document into a built-in kind, field by field as its Go struct declares them.

import type { Fields } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import type { JsonNode } from './json-parse.ts';

export interface Decoded {
  /** The canonical object: known fields only, zero values left out, times in UTC. */
  readonly value: Fields;
  /** `unknown field "a.b"` and `duplicate field "a.b"`, in the order of the document, at most 100. */
  readonly strictErrors: readonly string[];
}

/** Decodes a document by its schema, or throws an Error with the message that Go has for a wrong type. */
export declare function decodeTyped(node: JsonNode, schema: Schema): Decoded;
