// Writes objects and lists as Kubernetes does, to the byte. One object's text serves get, list and watch.

import type { KubeObject } from '../object.ts';
import type { Schema } from '../schema/schema.ts';

export interface BodyFormat {
  readonly mediaType: 'json' | 'yaml';
  readonly pretty: boolean;
}

/** The compact JSON of an object: as a Go struct if its kind is built in (`schema` given), else with sorted keys. */
export declare function objectText(object: KubeObject, schema?: Schema): string;

/** The compact JSON of an object as an item of a list: items of built-in kinds do not repeat kind and apiVersion. */
export declare function itemText(object: KubeObject, schema?: Schema): string;

export interface ListHead {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly resourceVersion?: string; readonly continue?: string; readonly remainingItemCount?: number };
}

/** The compact JSON of a list of ready item texts. Lists of custom resources sort their keys and always have `continue`. */
export declare function listText(head: ListHead, items: readonly string[], builtIn: boolean): string;

/** The compact JSON of a value whose keys are already in order: Status, Table, PartialObjectMetadata. */
export declare function orderedJson(value: unknown): string;

/** One line of a watch. */
export declare function watchEventText(type: string, object: string): string;

/** The body of an answer whose compact JSON is `text`: compact with a newline, indented without, or YAML. */
export declare function formatBody(text: string, format: BodyFormat): string;

/** The body of an answer that holds one object. */
export declare function encodeObject(object: KubeObject, options: BodyFormat & { readonly schema?: Schema }): string;
