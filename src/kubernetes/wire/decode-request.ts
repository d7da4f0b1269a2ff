// Input and result of decoding a body.

import type { KubeObject } from '../object.ts';
import type { Schema } from '../schema/schema.ts';
import type { BodyMediaType } from './content-type.ts';
import type { GroupVersionKind } from './group-version-kind.ts';
import type { FieldValidation } from './options.ts';
import type { YamlLimits } from './yaml/parse.ts';

export interface DecodeRequest {
  readonly body: Uint8Array;
  readonly mediaType: BodyMediaType;
  /** Limits on YAML that is not JSON; none by default. */
  readonly yamlLimits?: YamlLimits;
  readonly kind: ExpectedKind;
  /** True if the body of a built-in kind may omit kind and apiVersion. */
  readonly isTypeOptional: boolean;
  readonly fieldValidation: FieldValidation;
  /** Returns whether the built-in kind exists. */
  readonly isRegistered: (group: string, version: string, kind: string) => boolean;
}

export interface ExpectedKind extends GroupVersionKind {
  readonly builtIn: boolean;
  readonly schema: Schema;
}

export interface DecodedObject {
  readonly object: KubeObject;
  readonly warnings: readonly string[];
}
