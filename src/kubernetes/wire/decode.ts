// Decodes the body of a request into an object of the endpoint's kind, with the errors of Kubernetes.

import { apiVersionOf, type ObjectMeta } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import type { StatusError } from '../status.ts';
import { type BodyMediaType, protobufNotSupported } from './content-type.ts';
import { decodeCustom } from './decode-custom.ts';
import { cannotBeHandled, decodeOrThrow, findTypeProblem, toFieldWarnings, unrecognized, versionMismatch } from './decode-error.ts';
import type { DecodedObject, DecodeRequest } from './decode-request.ts';
import { type DecodedValue, decodeTyped } from './decode-typed.ts';
import { formatMissingField, readDocument } from './document.ts';
import { type GroupVersionKind, withDefaultType } from './group-version-kind.ts';
import { readEnvelope } from './protobuf/envelope.ts';
import { decodeMessage } from './protobuf/message.ts';
import type { YamlLimits } from './yaml/parse.ts';

/** Decodes a body, or throws a StatusError (400, 413, or 415 for protobuf without a schema). */
export function decodeObject(request: DecodeRequest): DecodedObject {
  const { body, mediaType, kind, yamlLimits } = request;
  const toStatusError = (message: string): StatusError => unrecognized(body, kind, message);
  if (kind.builtIn)
    return decodeBuiltIn(
      decodeOrThrow(() => readTypedBody(body, mediaType, yamlLimits), toStatusError),
      request,
    );
  if (mediaType === 'protobuf') throw protobufNotSupported();
  return decodeCustom(
    decodeOrThrow(() => readDocument(body, mediaType, yamlLimits), toStatusError),
    request,
  );
}

function decodeBuiltIn({ type: given, decode }: TypedBody, request: DecodeRequest): DecodedObject {
  const { body, kind, fieldValidation } = request;
  const type = request.isTypeOptional ? withDefaultType(given, kind) : given;
  const toStatusError = (message: string): StatusError => cannotBeHandled(type, kind, message);
  if (type.kind === '') throw unrecognized(body, kind, formatMissingField('Kind', body));
  if (type.version === '') throw toStatusError(formatMissingField('apiVersion', body));
  if (type.kind !== kind.kind || apiVersionOf(type) !== apiVersionOf(kind)) throw wrongType(type, request);
  const { value, strictErrors } = decodeOrThrow(() => decode(kind.schema), toStatusError);
  const warnings = toFieldWarnings(strictErrors, fieldValidation, toStatusError);
  const metadata = (value['metadata'] ?? {}) as ObjectMeta;
  return { object: { ...value, apiVersion: apiVersionOf(kind), kind: kind.kind, metadata }, warnings };
}

/** Returns the error for a body whose type differs from the endpoint's type. */
function wrongType(type: GroupVersionKind, { kind: expected, isRegistered }: DecodeRequest): StatusError {
  const problem = findTypeProblem(type, expected, isRegistered);
  return problem === undefined ? versionMismatch(type, expected) : cannotBeHandled(type, expected, problem);
}

/** The body of a request to a built-in kind in JSON, YAML or protobuf. */
interface TypedBody {
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
