// Types that decode themselves from JSON: the messages that protobuf has for them, and their values.

import type { Fields, Value } from '../../object.ts';
import { bytes, int32, int64, struct } from '../../schema/go-struct.ts';
import type { GoField, Schema } from '../../schema/schema.ts';
import { microTimeText, timeText } from '../go-time.ts';
import { toValue } from '../json-node.ts';
import { parseJson } from '../json-parse.ts';

type Codec = NonNullable<GoField['codec']>;

/** The message of such a type; none for what is kept as it came, which only JSON can tell. */
export function selfMessage({ codec }: GoField): Schema | undefined {
  return codec === undefined ? undefined : MESSAGES[codec];
}

/** The value of a message, or nothing if it stands for null. Throws an Error with Go's message. */
export function selfValue(codec: Codec, message: Fields, { properties = {} }: Schema): Value | undefined {
  switch (codec) {
    case 'time':
      return timeText(integer(message['seconds']));
    case 'microTime':
      return microTimeText(integer(message['seconds']), Math.trunc(integer(message['nanos']) / 1000));
    case 'bytes':
    case 'raw':
    case 'fieldsV1':
      return chosenValue(Object.keys(properties).map((name) => message[name]));
  }
}

const TIMESTAMP = struct('v1.Timestamp', { seconds: int64(), nanos: int32() });

const MESSAGES: Readonly<Partial<Record<Codec, Schema>>> = {
  time: TIMESTAMP,
  microTime: TIMESTAMP,
  fieldsV1: struct('v1.FieldsV1', { Raw: bytes() }),
};

function integer(value: Value | undefined): number {
  return Number(value ?? 0);
}

/** Of alternatives, the first that was chosen: a value, or bytes that hold its JSON. */
function chosenValue(alternatives: readonly (Value | undefined)[]): Value | undefined {
  const value = alternatives.find((each) => each !== undefined);
  return typeof value === 'string' ? toValue(parseJson(Buffer.from(value, 'base64'))) : value;
}
