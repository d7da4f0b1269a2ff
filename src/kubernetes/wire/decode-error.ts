// Error responses of Kubernetes for bodies that it cannot decode.

import { quoteGoString } from '../../std/go-text.ts';
import { apiVersionOf } from '../object.ts';
import { badRequest, StatusError } from '../status.ts';
import { messageOf } from './document.ts';
import type { GroupVersion, GroupVersionKind } from './group-version-kind.ts';
import type { FieldValidation } from './options.ts';
import { decodeUtf8WithSurrogates } from './utf8.ts';

/** Returns the error for a body that cannot be parsed or has no kind. */
export function unrecognized(body: Uint8Array, expected: GroupVersionKind, message: string): StatusError {
  return badRequest(`the object provided is unrecognized (must be of type ${expected.kind}): ${message} (${summarize(Buffer.from(body))})`);
}

/** Returns the error for a body that cannot be decoded as the kind of the endpoint. */
export function cannotBeHandled(type: GroupVersionKind, expected: GroupVersionKind, message: string): StatusError {
  return badRequest(`${type.kind} in version ${quoteGoString(type.version)} cannot be handled as a ${expected.kind}: ${message}`);
}

/** Returns the error for an object whose API version differs from that of the endpoint. */
export function versionMismatch(type: GroupVersion, expected: GroupVersionKind): StatusError {
  const versions = `(${apiVersionOf(type)}) does not match the expected API version (${apiVersionOf(expected)})`;
  return badRequest(`the API version in the data ${versions}`);
}

/** Returns the error message for an unregistered type or a wrong kind; undefined for the expected kind in a registered version. */
export function findTypeProblem(
  type: GroupVersionKind,
  expected: GroupVersionKind,
  isRegistered: (group: string, version: string, kind: string) => boolean,
): string | undefined {
  const { group, version, kind } = type;
  if (!isRegistered(group, version, kind)) {
    const scheme = expected.group === 'apiextensions.k8s.io' ? 'pkg/runtime/scheme.go:111' : 'pkg/api/legacyscheme/scheme.go:30';
    return `no kind ${quoteGoString(kind)} is registered for version ${quoteGoString(apiVersionOf(type))} in scheme ${quoteGoString(scheme)}`;
  }
  const target = `${internalPackageOf(expected.group)}.${expected.kind}`;
  return kind === expected.kind ? undefined : `converting (${version}.${kind}) to (${target}): unknown conversion`;
}

/** Returns the Go package of a group's internal types. Events are in the package core, regardless of their group. */
function internalPackageOf(group: string): string {
  return group === '' || group === 'events.k8s.io' ? 'core' : group.split('.')[0]!;
}

/** Runs `decode`; converts its errors with `toStatusError`, except those that are a StatusError. */
export function decodeOrThrow<T>(decode: () => T, toStatusError: (message: string) => StatusError): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof StatusError) throw error;
    throw toStatusError(messageOf(error));
  }
}

/** Returns warnings for unknown and repeated fields: none with `Ignore`. With `Strict`, throws the error of `toStatusError` instead. */
export function toFieldWarnings(
  errors: readonly string[],
  fieldValidation: FieldValidation,
  toStatusError: (message: string) => StatusError,
): readonly string[] {
  if (errors.length === 0 || fieldValidation === 'Ignore') return [];
  if (fieldValidation === 'Strict') throw toStatusError(`strict decoding error: ${errors.join(', ')}`);
  return errors.flatMap((error) => (error.startsWith(YAML_ERRORS) ? splitYamlError(error) : [error]));
}

const YAML_ERRORS = 'yaml: unmarshal errors:';
const SUMMARY_BYTES = 30;

/** Splits the error of strict YAML decoding into one warning for each problem. */
function splitYamlError(error: string): string[] {
  return error
    .slice(YAML_ERRORS.length)
    .trim()
    .split('\n')
    .map((line) => line.trim());
}

function summarize(body: Buffer): string {
  if (body.length === 0) return '<empty>';
  const start = body.subarray(0, SUMMARY_BYTES);
  return `${body[0] === 0x7b ? decodeUtf8WithSurrogates(start) : start.toString('hex')}${body.length > SUMMARY_BYTES ? ' ...' : ''}`;
}
