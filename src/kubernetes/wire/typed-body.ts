// The body of a request to a built-in kind in JSON, YAML or protobuf.

import type { Schema } from '../schema/schema.ts';
import type { BodyMediaType } from './content-type.ts';
import { type DecodedValue, decodeTyped } from './decode-typed.ts';
import { readDocument } from './document.ts';
import type { GroupVersionKind } from './group-version-kind.ts';
import { readEnvelope } from './protobuf/envelope.ts';
import { decodeMessage } from './protobuf/message.ts';
import type { YamlLimits } from './yaml/parse.ts';

export interface TypedBody {
  /** Type in the body; missing parts are empty. */
  readonly type: GroupVersionKind;
  /** Returns the object, or throws an Error with Kubernetes' message. Protobuf bodies have no strict errors. */
  readonly decode: (schema: Schema) => DecodedValue;
}

/** Reads the type of a body, or throws an Error with Kubernetes' message; 413 for YAML above its size limit. */
export function readTypedBody(body: Uint8Array, mediaType: BodyMediaType, yamlLimits?: YamlLimits): TypedBody {
  if (mediaType === 'protobuf') {
    const { type, raw } = readEnvelope(body);
    return { type, decode: (schema) => ({ value: decodeMessage(raw, schema), strictErrors: [] }) };
  }
  const { node, type, yamlDuplicates } = readDocument(body, mediaType, yamlLimits);
  return {
    type,
    decode: (schema) => {
      const { value, strictErrors } = decodeTyped(node, schema);
      return { value, strictErrors: yamlDuplicates === undefined ? strictErrors : [yamlDuplicates, ...strictErrors] };
    },
  };
}
