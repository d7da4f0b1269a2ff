// Writes objects and lists as Kubernetes does, to the byte. One object's text serves get, list and watch.

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

/** The compact JSON of an object: as a Go struct if its kind is built in (`schema` given), else with sorted keys. */
export function objectText(object: KubeObject, schema?: Schema): string {
  return schema === undefined ? goJson(object) : structText(object, schema);
}

/** The compact JSON of an object in a list: there, objects of built-in kinds do not repeat kind and apiVersion. */
export function itemText(object: KubeObject, schema?: Schema): string {
  if (schema === undefined) return goJson(object);
  return structText({ ...object, kind: undefined, apiVersion: undefined }, schema);
}

export interface ListHead {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number };
}

/** The compact JSON of a list around its items. */
export interface ListFrame {
  /** Up to the bracket that opens them. */
  readonly before: string;
  /** From the bracket that closes them. */
  readonly after: string;
}

/** A list in parts. */
export interface ListParts extends ListFrame {
  /** The text of each, made when its turn comes. */
  readonly items: Iterable<string>;
}

/** Fields of a list except its items. Lists of custom resources sort their keys and always have `continue`. */
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

/** The compact JSON of a list. */
export function listText({ before, items, after }: ListParts): string {
  return `${before}${[...items].join(',')}${after}`;
}

/** One line of a watch; `object` is a ready text. */
export function watchEventText(type: string, object: string): string {
  return `{"type":${goJsonString(type)},"object":${object}}\n`;
}

/** The body of an answer whose compact JSON is `text`: compact with a newline, indented without, or YAML. */
export function formatBody(text: string, { mediaType, pretty }: BodyFormat): string {
  if (mediaType === 'yaml') return yamlOf(text);
  return pretty ? indentJson(text) : `${text}\n`;
}

/** The body of an answer that holds one object. */
export function encodeObject(object: KubeObject, { schema, ...format }: BodyFormat & { readonly schema?: Schema }): string {
  return formatBody(objectText(object, schema), format);
}

/** JSON that the server wrote, as YAML. */
export function yamlOf(text: string): string {
  return encodeYaml(toValue(parseJson(Buffer.from(text), Number.POSITIVE_INFINITY)));
}
