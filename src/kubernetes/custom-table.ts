// Tables of custom resources: the name, then the columns that the CRD declares, or the age if it declares none.

import { encodeGoJson, formatGoNumber } from '../std/go-text.ts';
import type { Table } from './kind.ts';
import { isFields, isList, type KubeObject, type Value } from './object.ts';
import { type JsonPath, parseJsonPath } from './schema/json-path.ts';
import { AGE_COLUMN, formatElapsed, NAME_COLUMN } from './table.ts';

/** A printer column of a CRD. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

/** Returns the table of a CRD version. The table ends before the first column with an invalid path. */
export function toCustomTable(declared: readonly PrinterColumn[] = []): Table {
  if (declared.length === 0) {
    return toTable([{ definition: { ...AGE_COLUMN, type: 'date' }, path: parseJsonPath('.metadata.creationTimestamp') }]);
  }
  const columns = declared.map(toColumn);
  const firstInvalid = columns.indexOf(undefined);
  return toTable(columns.slice(0, firstInvalid === -1 ? undefined : firstInvalid).filter((column) => column !== undefined));
}

function toColumn({ name, type, format = '', priority = 0, description = '', jsonPath }: PrinterColumn): Column | undefined {
  const definition = { name, type, format, description: description === '' ? formatDefaultDescription(jsonPath) : description, priority };
  try {
    return { definition, path: parseJsonPath(jsonPath) };
  } catch {
    return undefined;
  }
}

interface Column {
  readonly definition: Table['columns'][number];
  readonly path: JsonPath;
}

function formatDefaultDescription(jsonPath: string): string {
  return `Custom resource definition column (in JSONPath format): ${jsonPath}`;
}

function toTable(columns: readonly Column[]): Table {
  return {
    columns: [NAME_COLUMN, ...columns.map(({ definition }) => definition)],
    cells: (object, now) => [object.metadata.name ?? '', ...columns.map((column) => toCell(column, object, now))],
  };
}

function toCell({ definition: { type }, path }: Column, object: KubeObject, now: number): unknown {
  const found = findFirstValue(path, object);
  return found === undefined ? null : (CELLS[type]?.(found, now) ?? null);
}

/** Conversions of values to cells, by column type. Except for `string`, they return undefined for a value of another type. */
const CELLS: Readonly<Record<string, (value: Value, now: number) => unknown>> = {
  string: formatString,
  integer: (value) => (typeof value === 'number' ? Math.trunc(value) : typeof value === 'bigint' ? value : undefined),
  number: (value) => (typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined),
  boolean: (value) => (typeof value === 'boolean' ? value : undefined),
  date: (value, now) => (typeof value === 'string' ? formatAge(value, now) : undefined),
};

function findFirstValue(path: JsonPath, object: KubeObject): Value | undefined {
  if (!isFields(object)) return undefined;
  try {
    return path(object)[0];
  } catch {
    return undefined;
  }
}

function formatString(value: Value): string {
  if (typeof value === 'string') return value;
  if (value === null) return '<no value>';
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value);
  return isFields(value) || isList(value) ? encodeGoJson(value) : String(value);
}

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

function formatAge(time: string, now: number): string {
  if (time === '' || time === 'null') return '<unknown>';
  return RFC3339.test(time) && !Number.isNaN(Date.parse(time)) ? formatElapsed(time, now) : '<invalid>';
}
