// Decodes the body of a request into an object of the endpoint's kind, with the errors of Kubernetes.

import type { ObjectMeta } from '../object.ts';
import type { StatusError } from '../status.ts';
import { protobufNotSupported } from './content-type.ts';
import { decodeCustom } from './decode-custom.ts';
import { cannotBeHandled, decodeOrThrow, findTypeProblem, toFieldWarnings, unrecognized, versionMismatch } from './decode-error.ts';
import type { DecodedObject, DecodeRequest } from './decode-request.ts';
import { formatMissingField, readDocument } from './document.ts';
import { apiVersionOf, type GroupVersionKind, withDefaultType } from './group-version-kind.ts';
import { readTypedBody, type TypedBody } from './typed-body.ts';

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
