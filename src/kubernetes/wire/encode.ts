// Encodes objects and lists byte for byte as Kubernetes does. One text of an object serves get, list and watch.

import { goJson, goJsonString } from '../../std/go-text.ts';
import type { KubeObject } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import { toValue } from './json-node.ts';
import { parseJson } from './json-parse.ts';
import { indentJson, orderedJson } from './ordered-json.ts';
import { structText } from './struct-text.ts';
import { encodeYaml } from './yaml/encode.ts';

export interface BodyFormat {
  readonly mediaType: 'json' | 'yaml';
  readonly pretty: boolean;
}

/** Returns the compact JSON of an object: as a Go struct if its kind is built in (`schema` given), otherwise with sorted keys. */
export function objectText(object: KubeObject, schema?: Schema): string {
  return schema === undefined ? goJson(object) : structText(object, schema);
}

/** Returns the compact JSON of an object in a list: objects of built-in kinds have no kind and apiVersion there. */
export function itemText(object: KubeObject, schema?: Schema): string {
  if (schema === undefined) return goJson(object);
  return structText({ ...object, kind: undefined, apiVersion: undefined }, schema);
}

export interface ListHead {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number };
}

/** Compact JSON of a list without its items. */
export interface ListFrame {
  /** Text up to the opening bracket of the items. */
  readonly before: string;
  /** Text from the closing bracket of the items. */
  readonly after: string;
}

/** A list in parts. */
export interface ListParts extends ListFrame {
  /** Strings of the items, created lazily. */
  readonly items: Iterable<string>;
}

/** Returns the text of a list around its items. Lists of custom resources sort their keys and always have `continue`. */
export function listFrame({ apiVersion, kind, metadata }: ListHead, builtIn: boolean): ListFrame {
  const { resourceVersion, continue: next = '', remainingItemCount } = metadata;
  const type = { apiVersion: goJsonString(apiVersion), kind: goJsonString(kind) };
  if (!builtIn) {
    return {
      before: `{"apiVersion":${type.apiVersion},"items":[`,
      after: `],"kind":${type.kind},"metadata":${goJson({ ...metadata, continue: next })}}`,
    };
  }
  const meta = orderedJson({ resourceVersion, continue: next === '' ? undefined : next, remainingItemCount });
  return { before: `{"kind":${type.kind},"apiVersion":${type.apiVersion},"metadata":${meta},"items":[`, after: ']}' };
}

/** Returns the compact JSON of a list. */
export function listText({ before, items, after }: ListParts): string {
  return `${before}${[...items].join(',')}${after}`;
}

/** Returns one line of a watch; `object` is JSON. */
export function watchEventText(type: string, object: string): string {
  return `{"type":${goJsonString(type)},"object":${object}}\n`;
}

/** Returns the body of a response with the compact JSON `text`: compact with a newline, indented without, or YAML. */
export function formatBody(text: string, { mediaType, pretty }: BodyFormat): string {
  if (mediaType === 'yaml') return jsonToYaml(text);
  return pretty ? indentJson(text) : `${text}\n`;
}

/** Converts JSON that the server encoded to YAML. */
export function jsonToYaml(text: string): string {
  return encodeYaml(toValue(parseJson(Buffer.from(text), Number.POSITIVE_INFINITY)));
}
