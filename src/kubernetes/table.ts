// Columns and cells that the tables of several kinds share.

import type { Table, TableColumn } from './kind.ts';
import type { KubeObject } from './object.ts';
import { formatHumanDuration } from './wire/go-duration.ts';

/** Returns a text column. kubectl shows `wide` columns only with `-o wide`. */
export function createColumn(name: string, description: string, wide: 'wide' | 'always' = 'always'): TableColumn {
  return { name, type: 'string', format: '', description, priority: wide === 'wide' ? 1 : 0 };
}

export const NAME_COLUMN: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description:
    'Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names',
  priority: 0,
};

const CREATION_TIMESTAMP =
  'CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata';

export const AGE_COLUMN: TableColumn = createColumn('Age', CREATION_TIMESTAMP);

/** Go's zero time, which tables show for bookmarks. */
const ZERO_TIME = '0001-01-01T00:00:00Z';

/** Table of kinds that do not define their own. */
export const DEFAULT_TABLE: Table = {
  columns: [NAME_COLUMN, { name: 'Created At', type: 'date', format: '', description: CREATION_TIMESTAMP, priority: 0 }],
  cells: ({ metadata }) => [metadata.name ?? '', metadata.creationTimestamp ?? ZERO_TIME],
};

/** Returns the age of an object in kubectl's format. */
export function toAge({ metadata }: KubeObject, now: number): string {
  return formatElapsed(metadata.creationTimestamp, now);
}

/** Returns the time that has passed since `time`, in kubectl's format; `<unknown>` if `time` is missing. */
export function formatElapsed(time: string | null | undefined, now: number): string {
  return time === undefined || time === null ? '<unknown>' : formatHumanDuration(now - Date.parse(time));
}
