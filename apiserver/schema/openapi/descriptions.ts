// What people read of Kubernetes' own kinds with `kubectl explain`: by Go struct, then by field; the struct itself under the empty name.

import { ACCESS_DESCRIPTIONS } from './descriptions-access.ts';
import { CORE_DESCRIPTIONS } from './descriptions-core.ts';
import { DEFINITION_DESCRIPTIONS } from './descriptions-definition.ts';
import type { Descriptions } from './descriptions-family.ts';

const TYPE_META: Readonly<Record<string, string>> = {
  kind: 'The kind of this object.',
  apiVersion: 'The group and version of the kind.',
};

const ALL: Descriptions = { ...CORE_DESCRIPTIONS, ...ACCESS_DESCRIPTIONS, ...DEFINITION_DESCRIPTIONS };

/** The description of a struct's field, or without a field that of the struct; undefined if nobody has written one. */
export function descriptionOf(struct: string, field = ''): string | undefined {
  return ALL[struct]?.[field] ?? (Object.hasOwn(ALL, struct) ? TYPE_META[field] : undefined);
}
