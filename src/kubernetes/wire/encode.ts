// Encodes objects and lists byte for byte as Kubernetes does.

import { encodeGoJson, encodeGoJsonString } from '../../std/go-text.ts';
import type { KubeObject } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { encodeStruct } from './encode-struct.ts';
import { toValue } from './json-node.ts';
import { parseJson } from './json-parse.ts';
import { encodeOrderedJson, indentJson } from './ordered-json.ts';
import { encodeYaml } from './yaml/encode.ts';

export interface BodyFormat {
  readonly mediaType: 'json' | 'yaml';
  readonly pretty: boolean;
}

/** Returns the compact JSON of an object: with `schema` (for built-in kinds) as a Go struct, otherwise with sorted keys. */
export function encodeObjectJson(object: KubeObject, schema?: Schema): string {
  return schema === undefined ? encodeGoJson(object) : encodeStruct(object, schema);
}

/** Returns the compact JSON of an object in a list. Objects of built-in kinds have no kind and apiVersion in lists. */
export function encodeItemJson(object: KubeObject, schema?: Schema): string {
  if (schema === undefined) return encodeGoJson(object);
  return encodeStruct({ ...object, kind: undefined, apiVersion: undefined }, schema);
}

export interface ListHead {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number };
}

/** Compact JSON of a list without its items. */
export interface ListFrame {
  /** JSON up to the opening bracket of the items. */
  readonly before: string;
  /** JSON from the closing bracket of the items. */
  readonly after: string;
}

/** Compact JSON of a list in parts. */
export interface ListParts extends ListFrame {
  /** JSON of each item, encoded lazily. */
  readonly items: Iterable<string>;
}

/** Returns the JSON of a list around its items. Lists of custom resources have sorted keys, and always have `continue`. */
export function encodeListFrame({ apiVersion, kind, metadata }: ListHead, builtIn: boolean): ListFrame {
  const { resourceVersion, continue: next = '', remainingItemCount } = metadata;
  const type = { apiVersion: encodeGoJsonString(apiVersion), kind: encodeGoJsonString(kind) };
  if (!builtIn) {
    return {
      before: `{"apiVersion":${type.apiVersion},"items":[`,
      after: `],"kind":${type.kind},"metadata":${encodeGoJson({ ...metadata, continue: next })}}`,
    };
  }
  const meta = encodeOrderedJson({ resourceVersion, continue: next === '' ? undefined : next, remainingItemCount });
  return { before: `{"kind":${type.kind},"apiVersion":${type.apiVersion},"metadata":${meta},"items":[`, after: ']}' };
}

/** Joins the parts of a list into its compact JSON. */
export function joinList({ before, items, after }: ListParts): string {
  return `${before}${[...items].join(',')}${after}`;
}

/** Returns the line of a watch event; `object` is JSON. */
export function encodeWatchEvent(type: string, object: string): string {
  return `{"type":${encodeGoJsonString(type)},"object":${object}}\n`;
}

/** Formats compact JSON as the body of a response: compact with a final newline, indented without one, or as YAML. */
export function formatBody(text: string, { mediaType, pretty }: BodyFormat): string {
  if (mediaType === 'yaml') return jsonToYaml(text);
  return pretty ? indentJson(text) : `${text}\n`;
}

/** Converts JSON to YAML. The JSON must come from the server itself, because the depth is not limited. */
export function jsonToYaml(text: string): string {
  return encodeYaml(toValue(parseJson(Buffer.from(text), Number.POSITIVE_INFINITY)));
}
