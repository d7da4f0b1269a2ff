// Validation by structural schema, in the words of Kubernetes. An update forgives errors in what it does not change.

import { type FieldError, unsupportedValue } from '../../src/kubernetes/field-error.ts';
import { isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, schemaOfField } from '../../src/kubernetes/schema/schema.ts';
import { goJson } from '../../src/std/go-text.ts';
import { sameValue } from '../same-value.ts';
import { checkAlternatives } from './check-alternatives.ts';
import { checkListSize } from './check-list.ts';
import { checkNumber } from './check-number.ts';
import { checkFieldNames } from './check-object.ts';
import { checkText } from './check-text.ts';
import { continuedField, continuedItem, isUnchanged } from './correlation.ts';
import { enforcedFormat } from './formats.ts';
import type { Node } from './node.ts';
import { failed, merged, PASSED, type Result } from './result.ts';
import { allowedTypes, checkType, isInteger } from './types.ts';

/** What is wrong with a value. Messages name fields relative to it; `field` is where it stands in its object. */
export function validateSchema(value: Value, schema: Schema, field = ''): readonly FieldError[] {
  return located(checkNode({ value, schema, path: '' }), field);
}

/** The same for a value that replaces an old one. */
export function validateSchemaUpdate(value: Value, old: Value | undefined, schema: Schema, field = ''): readonly FieldError[] {
  const continued = old === undefined ? undefined : { value, old, schema };
  return located(checkChild({ value, schema, path: '', continued }), field);
}

function located({ errors }: Result, prefix: string): readonly FieldError[] {
  return errors.map((error) => {
    const name = error.field.replace(/^\./, '');
    const field = [prefix, name].filter((part) => part !== '').join('.');
    return { ...error, field: field === '' ? '<nil>' : field };
  });
}

function checkChild(node: Node): Result {
  const result = checkNode(node);
  return result.errors.length > 0 && isUnchanged(node.continued) ? { ...PASSED, checks: result.checks } : result;
}

function checkNode(node: Node): Result {
  const { value, schema, path } = node;
  if (value === null) return merged([checkType(value, schema, path), checkEnum(node)]);
  const isTyped = allowedTypes(schema).length > 0 || enforcedFormat(schema) !== undefined;
  const results = [
    ...(isTyped ? [checkType(value, schema, path)] : []),
    checkAlternatives(node, checkNode),
    ...checkByType(node),
    checkEnum(node),
  ];
  return merged(results, results.length + 1);
}

function checkByType(node: Node): readonly Result[] {
  const { value, schema, path } = node;
  if (typeof value === 'string') return checkText(value, schema, path);
  if (typeof value === 'number' || typeof value === 'bigint') return [{ errors: checkNumber(asGo(value), schema, path), checks: 1 }];
  if (isList(value)) return [merged([...value.map((_, index) => checkItem(node, index)), checkListSize(value, schema, path)], 1)];
  return isFields(value) ? [merged([...Object.keys(value).map((key) => checkField(node, key)), checkFieldNames(value, schema, path)])] : [];
}

/** Go reads integers beyond 64 bits as floats. */
function asGo(value: number | bigint): number | bigint {
  return isInteger(value) ? value : Number(value);
}

function checkItem({ value, schema, path, continued }: Node, index: number): Result {
  const item = isList(value) ? value[index] : undefined;
  if (item === undefined || schema.items === undefined) return PASSED;
  return checkChild({ value: item, schema: schema.items, path: `${path}[${index}]`, continued: continuedItem(continued, index) });
}

function checkField({ value, schema, path, continued }: Node, key: string): Result {
  const field = isFields(value) ? value[key] : undefined;
  const fieldSchema = schemaOfField(schema, key);
  if (field === undefined || fieldSchema === undefined) return PASSED;
  const isNamed = Object.hasOwn(schema.properties ?? {}, key);
  const isTypeMeta = path === '' && (key === 'kind' || key === 'apiVersion');
  return checkChild({
    value: field,
    schema: fieldSchema,
    path: isNamed && path === '' ? key : `${path}.${key}`,
    continued: isTypeMeta ? undefined : continuedField(continued, key),
  });
}

function checkEnum({ value, schema, path }: Node): Result {
  const allowed = schema.enum ?? [];
  if (allowed.length === 0 || (value !== null && allowed.some((other) => isEnumValue(value, other)))) return PASSED;
  const texts = allowed.map((other) => (typeof other === 'string' ? other : goJson(other)));
  return failed(unsupportedValue(path, value, texts));
}

/** A float is compared with an integer of the enum after losing its fraction. */
function isEnumValue(value: Value, allowed: Value): boolean {
  const isCut = typeof value === 'number' && typeof allowed === 'number' && isInteger(allowed);
  return sameValue(isCut ? Math.trunc(value) : value, allowed);
}
