// Turns the body of a request into an object of the kind that its endpoint takes, or says in Kubernetes' words why it cannot.

import type { KubeObject } from '../object.ts';
import type { Schema } from '../schema/schema.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface DecodeRequest {
  readonly body: Uint8Array;
  readonly mediaType: 'json' | 'yaml';
  readonly kind: ExpectedKind;
  /** Whether kind and apiVersion may be missing: so for built-in kinds, not for custom resources. */
  readonly defaultKind: boolean;
  readonly fieldValidation: FieldValidation;
  /** Whether the server knows such a built-in kind at all. */
  isRegistered(group: string, version: string, kind: string): boolean;
}

export interface ExpectedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly builtIn: boolean;
  readonly schema: Schema;
}

export interface DecodedObject {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}

/** Decodes a body, or throws a StatusError (400). */
export declare function decodeObject(request: DecodeRequest): DecodedObject;
