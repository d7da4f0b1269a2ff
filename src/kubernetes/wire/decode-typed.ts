// Decodes a JSON document into a built-in kind by the declaration of its Go struct.

import { quoteGoString } from '../../std/go-text.ts';
import { type Fields, isFields, isList, type Value } from '../object.ts';
import type { GoField, Schema } from '../schema/schema.ts';
import { canonicalizeBase64 } from './base64.ts';
import { decodeSelf, isInteger, nodeTypeOf, type Position, typeMismatch } from './decode-self.ts';
import { isEmpty } from './encode-struct.ts';
import { type JsonNode, joinFieldPath, parseNumber } from './json-node.ts';

export interface DecodedValue {
  /** Canonical object: only known fields, no zero values except of pointers and of collections without omitempty, times in UTC. */
  readonly value: Fields;
  /** `unknown field "a.b"` and `duplicate field "a.b"`, in the order of the document, at most 100. */
  readonly strictErrors: readonly string[];
}

/** Decodes a document by its schema, or throws an Error with Go's message. */
export function decodeTyped(node: JsonNode, schema: Schema): DecodedValue {
  return new TypedDecoder().decode(node, schema);
}

const MAX_STRICT_ERRORS = 100;

class TypedDecoder {
  #firstError: Error | undefined;
  readonly #strictErrors = new Set<string>();

  decode(node: JsonNode, schema: Schema): DecodedValue {
    const value = this.#value(node, schema, { path: '', fields: '', struct: '' }, undefined);
    if (this.#firstError !== undefined) throw this.#firstError;
    return { value: isFields(value) ? value : {}, strictErrors: [...this.#strictErrors] };
  }

  /**
   * Decodes a value. `previous` is the value of an earlier occurrence of the field: Go decodes into that value. A null keeps a previous
   * scalar or struct, and removes any other previous value.
   */
  #value(node: JsonNode, schema: Schema, position: Position, previous: Value | undefined): Value | undefined {
    const go = schema.go ?? UNTYPED_FIELD;
    if (node.type === 'null') return isReference(schema, go) ? undefined : previous;
    if (go.codec === 'bytes') return this.#bytes(node, go, position);
    if (go.codec !== undefined) return decodeSelf(node, go.codec, position);
    if (schema.properties !== undefined) return this.#struct(node, schema, position, previous);
    if (typeof schema.additionalProperties === 'object') return this.#map(node, schema, position, previous);
    if (schema.items !== undefined) return this.#list(node, schema, position, previous);
    return this.#scalar(node, schema, go, position);
  }

  #struct(node: JsonNode, schema: Schema, position: Position, previous: Value | undefined): Value | undefined {
    if (node.type !== 'object') return this.#mismatch(node, schema, position);
    const { properties = {}, go = UNTYPED_FIELD } = schema;
    // Decodes in place: with a copy for each repetition of a field, decoding would take quadratic time.
    const result: Record<string, Value | undefined> = isFields(previous) ? previous : {};
    const seen = new Set<string>();
    for (const { key, value } of node.entries) {
      const path = joinFieldPath(position.path, key);
      const field = Object.hasOwn(properties, key) ? properties[key] : undefined;
      if (field === undefined) this.#addStrictError('unknown field', path);
      else {
        if (seen.has(key)) this.#addStrictError('duplicate field', path);
        seen.add(key);
        const before = result[key];
        const decoded = this.#value(value, field, { path, fields: joinFieldPath(position.fields, key), struct: go.struct ?? '' }, before);
        if (isStillFilled(decoded, before, field)) continue;
        if (isZero(decoded, field)) delete result[key];
        else result[key] = decoded;
      }
    }
    return result;
  }

  #map(node: JsonNode, schema: Schema, position: Position, previous: Value | undefined): Value | undefined {
    if (node.type !== 'object') return this.#mismatch(node, schema, position);
    const values = schema.additionalProperties as Schema;
    const result: Record<string, Value | undefined> = isFields(previous) ? previous : Object.create(null);
    const seen = new Set<string>();
    for (const { key, value } of node.entries) {
      const path = joinFieldPath(position.path, key);
      if (seen.has(key)) this.#addStrictError('duplicate field', path);
      seen.add(key);
      result[key] = this.#value(value, values, { ...position, path }, undefined) ?? zeroOf(values);
    }
    return result;
  }

  #list(node: JsonNode, schema: Schema, position: Position, previous: Value | undefined): Value | undefined {
    if (node.type !== 'array') return this.#mismatch(node, schema, position);
    const items = schema.items ?? {};
    const before = isList(previous) ? previous : [];
    return node.items.map(
      (item, index) => this.#value(item, items, { ...position, path: `${position.path}[${index}]` }, before[index]) ?? zeroOf(items),
    );
  }

  #scalar(node: JsonNode, schema: Schema, go: GoField, position: Position): Value | undefined {
    if (node.type === 'string' && schema.type === 'string') return node.value;
    if (node.type === 'boolean' && schema.type === 'boolean') return node.value;
    if (node.type === 'number' && (schema.type === 'integer' || schema.type === 'number')) return this.#number(node.text, go, position);
    return this.#mismatch(node, schema, position);
  }

  #number(text: string, { type }: GoField, position: Position): Value | undefined {
    const fits = RANGES[type] ?? RANGES['float64'];
    if (fits?.(text)) return parseNumber(text);
    return this.#fail(() => typeMismatch(`number ${text}`, type, position));
  }

  /** Decodes base64 or, like Go, a list of byte values. */
  #bytes(node: JsonNode, go: GoField, position: Position): Value | undefined {
    if (node.type === 'array') {
      const items = this.#list(node, BYTE_LIST, position, undefined);
      return isList(items) ? Buffer.from(items.map(Number)).toString('base64') : undefined;
    }
    if (node.type !== 'string') return this.#fail(() => typeMismatch(nodeTypeOf(node), go.type, position));
    try {
      return canonicalizeBase64(node.value);
    } catch (error) {
      return this.#fail(() => error as Error);
    }
  }

  #mismatch(node: JsonNode, { go = UNTYPED_FIELD }: Schema, position: Position): undefined {
    return this.#fail(() => typeMismatch(nodeTypeOf(node), go.type, position));
  }

  /**
   * Records the first error. Decoding continues, because errors of types with their own decoder take precedence. Later errors are not
   * created, because that is slow.
   */
  #fail(error: () => Error): undefined {
    this.#firstError ??= error();
  }

  #addStrictError(what: string, path: string): void {
    if (this.#strictErrors.size < MAX_STRICT_ERRORS) this.#strictErrors.add(`${what} ${quoteGoString(path)}`);
  }
}

const UNTYPED_FIELD: GoField = { type: 'interface {}' };
const RANGES: Readonly<Record<string, (text: string) => boolean>> = {
  int32: (text) => isInteger(text, 32),
  int64: (text) => isInteger(text, 64),
  uint8: (text) => isInteger(text, 9) && Number(text) >= 0,
  float64: (text) => Number.isFinite(Number(text)),
};
const BYTE_LIST: Schema = { items: { type: 'integer', go: { type: 'uint8' } }, go: { type: '[]uint8' } };

/**
 * Returns whether a repeated field still has its previous value, such as a map that was decoded in place. `isZero` would count the entries
 * of the map: for many repetitions, this would take quadratic time.
 */
function isStillFilled(decoded: Value | undefined, before: Value | undefined, { properties }: Schema): boolean {
  return decoded !== undefined && decoded === before && properties === undefined;
}

/** Returns whether null removes a value, as for pointers, lists, maps and types with their own decoder. */
function isReference({ items, additionalProperties }: Schema, { pointer, codec }: GoField): boolean {
  return pointer === true || codec !== undefined || items !== undefined || typeof additionalProperties === 'object';
}

/** Returns whether a field with this value is the same as an absent field. False for an empty list or map without omitempty. */
export function isZero(value: Value | undefined, schema: Schema): boolean {
  if (value === undefined) return true;
  if (schema.go?.pointer) return false;
  if (schema.properties !== undefined) return isFields(value) && Object.keys(value).length === 0;
  const isCollection = isList(value) || isFields(value);
  return isEmpty(value, schema) && !(isCollection && schema.go?.zero !== undefined);
}

/** Returns the value that Go decodes from a null in a list or a map. */
export function zeroOf({ type, properties, go }: Schema): Value {
  if (go?.pointer) return null;
  if (properties !== undefined) return {};
  if (type === 'integer' || type === 'number') return 0;
  if (type === 'boolean') return false;
  return type === 'string' && (go?.codec === undefined || go.codec === 'bytes') ? '' : null;
}
