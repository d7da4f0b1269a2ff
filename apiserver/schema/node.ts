// What the checks of a schema are about.

import type { Value } from '../../src/kubernetes/object.ts';
import type { Schema } from '../../src/kubernetes/schema/schema.ts';
import type { Continued } from './correlation.ts';

/** A value that is checked, and where it stands below the root of the check. */
export interface Node {
  readonly value: Value;
  readonly schema: Schema;
  readonly path: string;
  readonly continued?: Continued | undefined;
}
