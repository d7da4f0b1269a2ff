// Go types with their own decoders: times and raw values. Errors of these decoders end decoding immediately.

import type { Value } from '../object.ts';
import type { GoField } from '../schema/schema.ts';
import { parseMicroTime, parseTime } from './go-time.ts';
import { INTEGER_64, type JsonNode, toValue } from './json-node.ts';

/** Position of a value: `path` has list indexes and map keys, `fields` only struct fields. */
export interface Position {
  readonly path: string;
  readonly fields: string;
  /** Struct that contains the field; empty at the root. */
  readonly struct: string;
}

/** Decodes a value that is not null, or throws an Error with Go's message. */
export function decodeSelf(node: JsonNode, codec: NonNullable<GoField['codec']>, position: Position): Value | undefined {
  switch (codec) {
    case 'time':
      return parseTime(requireString(node, position));
    case 'microTime':
      return parseMicroTime(requireString(node, position));
    case 'bytes':
    case 'raw':
    case 'fieldsV1':
      return toValue(node);
  }
}

/** Returns Go's error for a JSON value of the wrong type. */
export function typeMismatch(found: string, goType: string, { struct, fields }: Position): Error {
  const target = struct === '' && fields === '' ? 'Go value' : `Go struct field ${struct}.${fields}`;
  return new Error(`json: cannot unmarshal ${found} into ${target} of type ${goType}`);
}

/** Returns the name of a JSON type in Go's errors. */
export function nodeTypeOf({ type }: JsonNode): string {
  return type === 'boolean' ? 'bool' : type;
}

/** Returns whether a number is a signed integer of at most `bits` bits (up to 64), written without fraction or exponent. */
export function isInteger(text: string, bits: number): boolean {
  return INTEGER_64.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text);
}

function requireString(node: JsonNode, position: Position): string {
  if (node.type !== 'string') throw typeMismatch(nodeTypeOf(node), 'string', position);
  return node.value;
}
