// Protobuf messages and values of Go types with their own decoders.

import type { Fields, Value } from '../../object.ts';
import { bytes, int32, int64, struct } from '../../schema/go-struct.ts';
import type { GoField, Schema } from '../../schema/schema.ts';
import { formatMicroTime, formatTime } from '../go-time.ts';
import { toValue } from '../json-node.ts';
import { parseJson } from '../json-parse.ts';

type Codec = NonNullable<GoField['codec']>;

/** Returns the protobuf schema of a type with its own decoder; undefined for raw values, which Purser does not accept in protobuf. */
export function messageSchemaOf({ codec }: GoField): Schema | undefined {
  return codec === undefined ? undefined : MESSAGES[codec];
}

/** Returns the value of a message; undefined for the zero time and for missing JSON. Throws an Error with Go's message for invalid JSON. */
export function decodeSelfMessage(codec: Codec, message: Fields, { properties = {} }: Schema): Value | undefined {
  switch (codec) {
    case 'time':
      return formatTime(toInteger(message['seconds']));
    case 'microTime':
      return formatMicroTime(toInteger(message['seconds']), Math.trunc(toInteger(message['nanos']) / 1000));
    case 'bytes':
    case 'raw':
    case 'fieldsV1':
      return decodeChosenValue(Object.keys(properties).map((name) => message[name]));
  }
}

const TIMESTAMP = struct('v1.Timestamp', { seconds: int64(), nanos: int32() });

const MESSAGES: Readonly<Partial<Record<Codec, Schema>>> = {
  time: TIMESTAMP,
  microTime: TIMESTAMP,
  fieldsV1: struct('v1.FieldsV1', { Raw: bytes() }),
};

function toInteger(value: Value | undefined): number {
  return Number(value ?? 0);
}

/** Returns the value of the first field that is set. A string is the base64 of the value's JSON. */
function decodeChosenValue(alternatives: readonly (Value | undefined)[]): Value | undefined {
  const value = alternatives.find((each) => each !== undefined);
  return typeof value === 'string' ? toValue(parseJson(Buffer.from(value, 'base64'))) : value;
}
