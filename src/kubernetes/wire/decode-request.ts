// What decoding a body is given, and what it gives.

import type { KubeObject } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import type { BodyMediaType } from './content-type.ts';
import type { FieldValidation } from './options.ts';
import type { TypeMeta } from './type-meta.ts';

export interface DecodeRequest {
  readonly body: Uint8Array;
  readonly mediaType: BodyMediaType;
  /** How long YAML may be that is not JSON; any length by default. */
  readonly maxYamlBytes?: number;
  readonly kind: ExpectedKind;
  /** Whether kind and apiVersion may be missing: so for built-in kinds, not for custom resources. */
  readonly defaultKind: boolean;
  readonly fieldValidation: FieldValidation;
  /** Whether the server knows such a built-in kind at all. */
  readonly isRegistered: (group: string, version: string, kind: string) => boolean;
}

export interface ExpectedKind extends TypeMeta {
  readonly builtIn: boolean;
  readonly schema: Schema;
}

export interface DecodedObject {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}
