// Validates custom resources against crds/ without a server: checks schemas itself, and evaluates rules with a CEL library.

import { readdirSync, readFileSync } from 'node:fs';
import { Environment } from '@marcbachmann/cel-js';
import { parse } from 'yaml';
import type { Schema, ValidationRule } from '../../src/kubernetes/schema/schema.ts';

export interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly name: string; readonly schema: { readonly openAPIV3Schema: Schema } }[];
  };
}

export type Value = null | boolean | number | bigint | string | readonly Value[] | { readonly [name: string]: Value };

export interface CustomResource {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly labels?: Readonly<Record<string, string>> };
  readonly spec?: unknown;
}

const ROOT = new URL('../../', import.meta.url);
const CEL = new Environment({ unlistedVariablesAreDyn: true });

/** All CustomResourceDefinitions in crds/. */
export const definitions: readonly Definition[] = yamlFiles('crds/').map(([, text]): Definition => parse(text));

/** Returns the names and contents of the YAML files in a folder of the repository. */
export function yamlFiles(folder: string): readonly (readonly [file: string, text: string])[] {
  const files = readdirSync(new URL(folder, ROOT)).filter((name) => name.endsWith('.yaml'));
  return files.sort().map((name) => [name, readFileSync(new URL(`${folder}${name}`, ROOT), 'utf8')]);
}

/** Returns the schema of the object's kind; undefined for other kinds. */
export function schemaOf({ apiVersion, kind }: CustomResource): Schema | undefined {
  const { spec } = definitions.find((definition) => definition.spec.names.kind === kind) ?? {};
  return spec?.versions.find((version) => `${spec.group}/${version.name}` === apiVersion)?.schema.openAPIV3Schema;
}

/** Returns the validation errors of an API server, each as `path: message`. */
export function violations(schema: Schema, object: Value): readonly string[] {
  const defaulted = withDefaults(schema, object);
  const errors = structuralErrors(schema, defaulted, '');
  return errors.length > 0 ? errors : ruleErrors(schema, defaulted, '');
}

/** Returns every rule of a schema and of its nested schemas. */
export function rulesOf(schema: Schema): readonly ValidationRule[] {
  return [...(schema['x-kubernetes-validations'] ?? []), ...partsOf(schema).flatMap(rulesOf)];
}

/** Returns the schemas directly inside a schema. */
export function partsOf({ properties, items, additionalProperties }: Schema): readonly Schema[] {
  return [
    ...Object.values(properties ?? {}),
    ...(items === undefined ? [] : [items]),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ];
}

function withDefaults(schema: Schema, value: Value): Value {
  if (Array.isArray(value)) return value.map((item: Value) => (schema.items ? withDefaults(schema.items, item) : item));
  if (!isFields(value) || schema.properties === undefined) return value;
  const defaults = Object.entries(schema.properties).flatMap(([name, part]) =>
    isValue(part.default) ? [[name, part.default] as const] : [],
  );
  const filled = { ...Object.fromEntries(defaults), ...value };
  return Object.fromEntries(Object.entries(filled).map(([name, part]) => [name, withDefaults(schema.properties?.[name] ?? {}, part)]));
}

function structuralErrors(schema: Schema, value: Value, path: string): readonly string[] {
  const here = [...typeErrors(schema, value), ...boundErrors(schema, value)].map((message) => `${path}: ${message}`);
  return here.length > 0 ? here : inside(schema, value, path, structuralErrors);
}

function ruleErrors(schema: Schema, value: Value, path: string): readonly string[] {
  const broken = (schema['x-kubernetes-validations'] ?? []).filter(({ rule }) => CEL.evaluate(rule, { self: celValue(value) }) !== true);
  return [...broken.map((rule) => `${path}${rule.fieldPath ?? ''}: ${rule.message}`), ...inside(schema, value, path, ruleErrors)];
}

type Check = (schema: Schema, value: Value, path: string) => readonly string[];

function inside(schema: Schema, value: Value, path: string, check: Check): readonly string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item: Value, index) => (schema.items ? check(schema.items, item, `${path}[${index}]`) : []));
  }
  if (!isFields(value)) return [];
  const { properties, additionalProperties } = schema;
  return Object.entries(value).flatMap(([name, part]) => {
    const partSchema = properties?.[name] ?? additionalProperties;
    return typeof partSchema === 'object' ? check(partSchema, part, path === '' ? name : `${path}.${name}`) : [];
  });
}

function typeErrors(schema: Schema, value: Value): readonly string[] {
  const type = Array.isArray(value) ? 'array' : Number.isInteger(value) ? 'integer' : typeof value;
  if (schema.type !== type) return [`must be ${schema.type}, is ${type}`];
  if (!isFields(value)) return [];
  const known = schema.properties ?? {};
  const unknown = schema.properties === undefined ? [] : Object.keys(value).filter((name) => !(name in known));
  const missing = (schema.required ?? []).filter((name) => !(name in value));
  return [...unknown.map((name) => `unknown field ${name}`), ...missing.map((name) => `required field ${name}`)];
}

function boundErrors(schema: Schema, value: Value): readonly string[] {
  if (schema.enum !== undefined && !schema.enum.includes(value)) return [`must be one of ${JSON.stringify(schema.enum)}`];
  const sized = (size: number, min = 0, max = Number.POSITIVE_INFINITY) => (size < min || size > max ? [`${size} is out of bounds`] : []);
  if (typeof value === 'number') return sized(value, schema.minimum ?? Number.NEGATIVE_INFINITY, schema.maximum);
  if (typeof value === 'string') return sized(Array.from(value).length, schema.minLength, schema.maxLength);
  if (Array.isArray(value)) return [...sized(value.length, schema.minItems, schema.maxItems), ...duplicates(schema, value)];
  return isFields(value) ? sized(Object.keys(value).length, 0, schema.maxProperties) : [];
}

function duplicates(schema: Schema, items: readonly Value[]): readonly string[] {
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const keyOf = (item: Value) => JSON.stringify(isFields(item) ? keys.map((key) => item[key]) : item);
  const distinct = schema['x-kubernetes-list-type'] === 'atomic' || new Set(items.map(keyOf)).size === items.length;
  return distinct ? [] : ['has a duplicate'];
}

function celValue(value: Value): unknown {
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(value);
  if (Array.isArray(value)) return value.map(celValue);
  return isFields(value) ? Object.fromEntries(Object.entries(value).map(([name, part]) => [name, celValue(part)])) : value;
}

function isValue(value: unknown): value is Value {
  return value !== undefined;
}

function isFields(value: Value): value is { readonly [name: string]: Value } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
