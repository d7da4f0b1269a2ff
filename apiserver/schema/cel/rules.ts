// x-kubernetes-validations: rules in CEL over a value, and over what it was before.

import {
  duplicateValue,
  type FieldError,
  forbiddenValue,
  invalidOmitted,
  invalidValue,
  requiredValue,
} from '../../../src/kubernetes/field-error.ts';
import { isFields, isList, type Value } from '../../../src/kubernetes/object.ts';
import { fieldPath } from '../../../src/kubernetes/schema/field-path.ts';
import { type Schema, schemaOfField } from '../../../src/kubernetes/schema/schema.ts';
import { type Continued, continuedField, continuedItem, fieldOf, isUnchanged, itemLike } from '../correlation.ts';
import { type CompiledRule, compiledRules, optionalOf } from './compile.ts';
import { ruleFailure } from './errors.ts';
import { rulePath } from './rule-path.ts';
import { celValue, withTypeAndName } from './values.ts';

/** What the rules of a schema say against a whole resource, and against its change from `old`. */
export function validateRules(object: Value, schema: Schema, old?: Value): readonly FieldError[] {
  const root: Schema = { ...schema, 'x-kubernetes-embedded-resource': true };
  const continued = old === undefined ? undefined : { value: object, old, schema };
  return validateNode({ value: object, old, schema: root, path: '', continued, nearest: undefined });
}

/** What the rules say against a value somewhere in a resource, such as a default; it counts as unchanged. */
export function validateRulesAt(value: Value, schema: Schema, path: string): readonly FieldError[] {
  return validateNode({ value, old: value, schema, path, continued: undefined, nearest: undefined });
}

/** Whether any rule stands at the schema or below it. */
export function hasRules(schema: Schema | undefined): boolean {
  if (schema === undefined) return false;
  const { items, additionalProperties: values, properties = {} } = schema;
  const children = [items, typeof values === 'object' ? values : undefined, ...Object.values(properties)];
  return (schema['x-kubernetes-validations'] ?? []).length > 0 || children.some(hasRules);
}

interface Node {
  readonly value: Value;
  readonly old: Value | undefined;
  readonly schema: Schema;
  readonly path: string;
  readonly continued: Continued | undefined;
  /** The nearest ancestor that continues an old value: if it has not changed, nothing below it is held against the update. */
  readonly nearest: Continued | undefined;
}

function validateNode(node: Node): readonly FieldError[] {
  if (node.value === null) return [];
  return [...validateHere(node), ...validateBelow(node)];
}

function validateBelow({ value, old, schema, path, continued, nearest }: Node): readonly FieldError[] {
  const closest = continued ?? nearest;
  if (isList(value)) {
    const { items } = schema;
    if (items === undefined) return [];
    return value.flatMap((item, index) =>
      validateNode({
        value: item,
        old: itemLike(item, old, schema),
        schema: items,
        path: `${path}[${index}]`,
        continued: continuedItem(continued, index),
        nearest: closest,
      }),
    );
  }
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const fieldSchema = schemaOfField(schema, key);
    if (field === undefined || fieldSchema === undefined) return [];
    const next = { value: field, old: fieldOf(old, key), schema: fieldSchema, path: fieldPath(path, key, schema) };
    return validateNode({ ...next, continued: continuedField(continued, key), nearest: closest });
  });
}

function validateHere(node: Node): readonly FieldError[] {
  const rules = compiledRules(node.schema);
  if (rules.length === 0) return [];
  const schema = node.schema['x-kubernetes-embedded-resource'] ? withTypeAndName(node.schema) : node.schema;
  const self = celValue(node.value, schema);
  const hasOld = node.old !== undefined && node.old !== null;
  const oldSelf = hasOld ? celValue(node.old, schema) : undefined;
  return rules.flatMap((rule) => {
    const isOptional = rule.rule.optionalOldSelf === true;
    if (rule.usesOldSelf && !hasOld && !isOptional) return [];
    return evaluated(rule, node, { self, oldSelf: isOptional ? optionalOf(oldSelf) : oldSelf });
  });
}

interface Variables {
  readonly self: unknown;
  readonly oldSelf: unknown;
}

function evaluated(compiled: CompiledRule, node: Node, { self, oldSelf }: Variables): readonly FieldError[] {
  try {
    if (compiled.evaluate(self, oldSelf) === true) return [];
  } catch (error) {
    return [invalidValue(located(node.path), node.schema.type ?? '', ruleFailure(error, ruleName(compiled)))];
  }
  const isForgiven = !compiled.usesOldSelf && isUnchanged(node.continued ?? node.nearest);
  return isForgiven ? [] : [refusal(compiled, node, messageOf(compiled, { self, oldSelf }))];
}

function messageOf(compiled: CompiledRule, { self, oldSelf }: Variables): string {
  const made = madeMessage(compiled, { self, oldSelf });
  if (made !== undefined) return made;
  const { message = '' } = compiled.rule;
  return message === '' ? `failed rule: ${ruleName(compiled)}` : message.trim();
}

/** What messageExpression says; nothing if it fails, or says nothing, too much, or more than one line. */
function madeMessage({ message }: CompiledRule, { self, oldSelf }: Variables): string | undefined {
  if (message === undefined) return undefined;
  try {
    const made = message(self, oldSelf);
    const text = typeof made === 'string' ? made.trim() : '';
    return text === '' || text.includes('\n') || Buffer.byteLength(text) > MAX_MESSAGE_BYTES ? undefined : text;
  } catch {
    return undefined;
  }
}

const MAX_MESSAGE_BYTES = 5 * 1024;

function ruleName({ rule: { rule, message = '' } }: CompiledRule): string {
  return (message === '' ? rule : message).trim();
}

function refusal({ rule }: CompiledRule, { value, schema, path }: Node, detail: string): FieldError {
  const at = rulePath(rule.fieldPath, schema);
  const field = located([path, at].filter((part) => part !== '').join('.'));
  const isCompound = schema.type === 'object' || schema.type === 'array';
  if (rule.reason === 'FieldValueForbidden') return forbiddenValue(field, detail);
  if (rule.reason === 'FieldValueRequired') return requiredValue(field, detail);
  if (rule.reason === 'FieldValueDuplicate') return isCompound ? duplicateOmitted(field) : duplicateValue(field, value);
  return isCompound ? invalidOmitted(field, detail) : invalidValue(field, value, detail);
}

function duplicateOmitted(field: string): FieldError {
  return { type: 'FieldValueDuplicate', field, body: 'Duplicate value' };
}

function located(path: string): string {
  return path === '' ? '<nil>' : path;
}
