// A request body as a document of known type, before its kind's own rules are applied.

import type { JsonNode } from './json-node.ts';
import { parseJson } from './json-parse.ts';
import type { MediaType } from './negotiate.ts';
import { parseGroupVersion, readTypeFields, type TypeMeta } from './type-meta.ts';
import { undecodedUtf8 } from './utf8.ts';
import { parseYaml } from './yaml/parse.ts';

export interface TypedDocument {
  readonly node: JsonNode;
  /** As the document says; what is missing is empty. */
  readonly type: TypeMeta;
  /** For YAML, what strict decoding says of repeated keys. */
  readonly yamlDuplicates?: string;
}

/** Reads a body, or throws an Error with Kubernetes' message; 413 for YAML that is longer than `maxYamlBytes`. */
export function readDocument(body: Uint8Array, mediaType: MediaType, maxYamlBytes?: number): TypedDocument {
  const { node, duplicates } =
    mediaType === 'yaml' ? parseYaml(body, maxYamlBytes) : { node: orParseError(() => parseJson(body)), duplicates: undefined };
  const { apiVersion, kind } = orParseError(() => readTypeFields(node));
  return { node, type: { ...parseGroupVersion(apiVersion), kind }, ...(duplicates !== undefined && { yamlDuplicates: duplicates }) };
}

/** The error for a body that lacks its kind or its apiVersion. */
export function missingField(field: 'Kind' | 'apiVersion', body: Uint8Array): string {
  return `Object '${field}' is missing in '${undecodedUtf8(Buffer.from(body))}'`;
}

function orParseError<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`couldn't get version/kind; json parse error: ${messageOf(error)}`, { cause: error });
  }
}

/** The message of a caught error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
