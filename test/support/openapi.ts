// Validation of values against schemas of OpenAPI 3.0.

import type { OpenApiSchema } from '../../src/facade/openapi-schemas.ts';

/** Schemas by name. */
export type Schemas = Readonly<Record<string, OpenApiSchema>>;

/** Returns the problems of a value; none if the schema allows it. */
export function problemsOf(value: unknown, schema: OpenApiSchema, schemas: Schemas, path = '$'): readonly string[] {
  if (schema.$ref !== undefined) return problemsOf(value, schemas[schema.$ref.split('/').at(-1) ?? ''] ?? NOTHING, schemas, path);
  if (value === null && schema.type !== undefined) return schema.nullable ? [] : [`${path} is null`];
  return [
    ...typeProblems(value, schema, path),
    ...valueProblems(value, schema, path),
    ...combinedProblems(value, schema, schemas, path),
  ].concat(
    Array.isArray(value) ? listProblems(value, schema, schemas, path) : isRecord(value) ? fieldProblems(value, schema, schemas, path) : [],
  );
}

const NOTHING: OpenApiSchema = { not: {} };

function typeProblems(value: unknown, { type }: OpenApiSchema, path: string): readonly string[] {
  const found = Array.isArray(value) ? 'array' : Number.isInteger(value) && type === 'integer' ? 'integer' : typeof value;
  return type === undefined || type === found ? [] : [`${path} is of type ${found} instead of ${type}`];
}

function valueProblems(value: unknown, schema: OpenApiSchema, path: string): readonly string[] {
  const { format, enum: values } = schema;
  const checks: readonly (readonly [boolean, string])[] = [
    [values === undefined || values.includes(value as string), 'is none of the allowed values'],
    [typeof value !== 'number' || isInRange(value, schema), 'is outside the range'],
    [typeof value !== 'string' || isText(value, schema), 'has the wrong length or does not match the pattern'],
    [typeof value !== 'string' || format !== 'date-time' || TIME.test(value), 'is not a time'],
  ];
  return checks.filter(([passes]) => !passes).map(([, problem]) => `${path} ${problem}`);
}

function isInRange(value: number, { minimum = -Infinity, maximum = Infinity }: OpenApiSchema): boolean {
  return value >= minimum && value <= maximum;
}

function isText(value: string, { minLength = 0, maxLength = Infinity, pattern = '' }: OpenApiSchema): boolean {
  const { length } = Array.from(value);
  return length >= minLength && length <= maxLength && new RegExp(pattern, 'u').test(value);
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;

function combinedProblems(value: unknown, { oneOf, not }: OpenApiSchema, schemas: Schemas, path: string): readonly string[] {
  const all = oneOf?.map((each) => problemsOf(value, each, schemas, path)) ?? [];
  const isOne = oneOf === undefined || all.filter(({ length }) => length === 0).length === 1;
  const isExcluded = not !== undefined && problemsOf(value, not, schemas, path).length === 0;
  return [...(isOne ? [] : [`${path} does not match exactly one schema`, ...all.flat()]), ...(isExcluded ? [`${path} is excluded`] : [])];
}

function listProblems(value: readonly unknown[], schema: OpenApiSchema, schemas: Schemas, path: string): readonly string[] {
  const { items = {}, minItems = 0, maxItems = Infinity } = schema;
  const isSized = value.length >= minItems && value.length <= maxItems;
  return [
    ...(isSized ? [] : [`${path} has ${value.length} items`]),
    ...value.flatMap((item, index) => problemsOf(item, items, schemas, `${path}[${index}]`)),
  ];
}

function fieldProblems(value: Readonly<Record<string, unknown>>, schema: OpenApiSchema, schemas: Schemas, path: string): readonly string[] {
  const { properties = {}, additionalProperties: others = {}, required = [] } = schema;
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${path}.${name} is missing`);
  const found = Object.entries(value).flatMap(([name, field]) => {
    const own = properties[name] ?? others;
    return own === false ? [`${path}.${name} is unknown`] : problemsOf(field, own, schemas, `${path}.${name}`);
  });
  return [...missing, ...found];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
