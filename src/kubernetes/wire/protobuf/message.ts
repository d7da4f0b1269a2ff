// Decodes a protobuf message into the same canonical object as its JSON.

import { type Fields, isFields, isList, type Value } from '../../object.ts';
import type { Schema } from '../../schema/schema.ts';
import { protobufNotSupported } from '../content-type.ts';
import { isZero, zeroOf } from '../decode-typed.ts';
import { decodeUtf8 } from '../utf8.ts';
import { type NumberedField, numberedFieldsOf } from './fields.ts';
import { FIXED_64, LENGTH_DELIMITED, ProtobufReader, VARINT } from './reader.ts';
import { decodeSelfMessage, messageSchemaOf } from './self.ts';

/** Decodes a message by the schema of its struct. Ignores unknown fields. Throws an Error with Go's message, or 415 for raw bytes. */
export function decodeMessage(bytes: Buffer, schema: Schema): Fields {
  return decodeInto({}, bytes, schema);
}

type Open = Record<string, Value | undefined>;

/** Decodes a message into `target`: merges repeated structs, and appends to lists. */
function decodeInto(target: Open, bytes: Buffer, schema: Schema): Fields {
  const reader = new ProtobufReader(bytes);
  const fields = numberedFieldsOf(schema);
  while (!reader.isDone) {
    const tag = reader.tag(schema.go?.struct ?? '');
    const field = fields.get(tag.number);
    if (field === undefined) reader.skip(tag);
    else readField(target, reader, field, tag.wireType);
  }
  return target;
}

function readField(target: Open, reader: ProtobufReader, { name, goName, schema }: NumberedField, wireType: number): void {
  const expected = wireTypeOf(schema.items ?? schema);
  const isPacked = schema.items !== undefined && wireType === LENGTH_DELIMITED && expected !== LENGTH_DELIMITED;
  if (wireType !== expected && !isPacked) throw new Error(`proto: wrong wireType = ${wireType} for field ${goName}`);
  const previous = target[name];
  const value = isPacked ? decodePacked(reader.delimited(), schema, previous) : readValue(reader, schema, previous);
  // Skips isZero for lists and maps: counting the entries of a map after each new one would take quadratic time.
  if (!isCollection(schema) && isZero(value, schema)) delete target[name];
  else if (value !== undefined) target[name] = value;
}

/** Returns whether a field is a list or a map. */
function isCollection({ items, additionalProperties }: Schema): boolean {
  return items !== undefined || typeof additionalProperties === 'object';
}

function wireTypeOf({ type, go }: Schema): number {
  if (go?.codec !== undefined) return LENGTH_DELIMITED;
  if (type === 'number') return FIXED_64;
  return type === 'integer' || type === 'boolean' ? VARINT : LENGTH_DELIMITED;
}

function readValue(reader: ProtobufReader, schema: Schema, previous: Value | undefined): Value | undefined {
  if (schema.items !== undefined) return append(previous, readItem(reader, schema.items));
  if (typeof schema.additionalProperties === 'object') return withEntry(previous, reader.delimited(), schema.additionalProperties);
  const wireType = wireTypeOf(schema);
  if (wireType === LENGTH_DELIMITED) return decodeDelimited(reader.delimited(), schema, previous);
  return wireType === VARINT ? toVarintValue(reader.varint(), schema) : reader.double();
}

function readItem(reader: ProtobufReader, schema: Schema): Value {
  return readValue(reader, schema, undefined) ?? zeroOf(schema);
}

function decodePacked(bytes: Buffer, { items = {} }: Schema, previous: Value | undefined): Value | undefined {
  const reader = new ProtobufReader(bytes);
  let list = previous;
  while (!reader.isDone) list = append(list, readItem(reader, items));
  return list;
}

/** Appends in place: lists and maps are private to the message until it is complete. */
function append(list: Value | undefined, item: Value): Value {
  if (!isList(list)) return [item];
  (list as Value[]).push(item);
  return list;
}

/** Adds a map entry. Like Go, it does not check the wire types of key and value. */
function withEntry(map: Value | undefined, entry: Buffer, schema: Schema): Value {
  const reader = new ProtobufReader(entry);
  let key = '';
  let value = zeroOf(schema);
  while (!reader.isDone) {
    const tag = reader.tag();
    if (tag.number === 1) key = decodeUtf8(reader.delimited());
    else if (tag.number === 2) value = readEntryValue(reader, schema);
    else reader.skip(tag);
  }
  const target: Open = isFields(map) ? map : Object.create(null);
  target[key] = value;
  return target;
}

/** Decodes a map value. Protobuf has no lists as map values; Kubernetes wraps them in a message. */
function readEntryValue(reader: ProtobufReader, schema: Schema): Value {
  if (schema.items === undefined) return readItem(reader, schema);
  return decodeMessage(reader.delimited(), { properties: { items: schema } })['items'] ?? zeroOf(schema);
}

function toVarintValue(value: bigint, { type, go }: Schema): Value {
  if (type === 'boolean') return value !== 0n;
  const integer = BigInt.asIntN(go?.type === 'int32' ? 32 : 64, value);
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
}

function decodeDelimited(bytes: Buffer, schema: Schema, previous: Value | undefined): Value | undefined {
  if (schema.properties !== undefined) return decodeInto(isFields(previous) ? previous : {}, bytes, schema);
  const codec = schema.go?.codec;
  if (codec === undefined) return decodeUtf8(bytes);
  if (codec === 'bytes') return bytes.toString('base64');
  return decodeCodec(bytes, schema, codec);
}

function decodeCodec(
  bytes: Buffer,
  { go = { type: '' } }: Schema,
  codec: NonNullable<NonNullable<Schema['go']>['codec']>,
): Value | undefined {
  const message = messageSchemaOf(go);
  if (message === undefined) {
    if (bytes.length > 0) throw protobufNotSupported();
    return {};
  }
  return bytes.length === 0 ? undefined : decodeSelfMessage(codec, decodeMessage(bytes, message), message);
}
