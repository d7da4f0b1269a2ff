// A request body as a document of known type, before the rules of its kind apply.

import { type GroupVersionKind, parseGroupVersion, readTypeFields } from './group-version-kind.ts';
import type { JsonNode } from './json-node.ts';
import { parseJson } from './json-parse.ts';
import type { MediaType } from './negotiate.ts';
import { decodeUtf8WithSurrogates } from './utf8.ts';
import { parseYaml, type YamlLimits } from './yaml/parse.ts';

export interface TypedDocument {
  readonly node: JsonNode;
  /** Type in the document; missing parts are empty. */
  readonly type: GroupVersionKind;
  /** Strict decoding error for duplicate keys in a YAML body; undefined without duplicate keys. */
  readonly yamlDuplicates?: string;
}

/** Decodes a body. Throws an Error for an invalid body, and 413 for YAML (other than JSON) above `yamlLimits.maxBytes`. */
export function readDocument(body: Uint8Array, mediaType: MediaType, yamlLimits?: YamlLimits): TypedDocument {
  const { node, duplicates } =
    mediaType === 'yaml' ? parseYaml(body, yamlLimits) : { node: rethrowAsParseError(() => parseJson(body)), duplicates: undefined };
  const { apiVersion, kind } = rethrowAsParseError(() => readTypeFields(node));
  return { node, type: { ...parseGroupVersion(apiVersion), kind }, ...(duplicates !== undefined && { yamlDuplicates: duplicates }) };
}

/** Returns the error message for a body without kind or apiVersion. */
export function formatMissingField(field: 'Kind' | 'apiVersion', body: Uint8Array): string {
  return `Object '${field}' is missing in '${decodeUtf8WithSurrogates(Buffer.from(body))}'`;
}

function rethrowAsParseError<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`couldn't get version/kind; json parse error: ${messageOf(error)}`, { cause: error });
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
