// Validation by the CEL rules of a schema (x-kubernetes-validations).

import { Environment } from '@marcbachmann/cel-js';
import { type FieldError, forbiddenValue, invalidOmitted, invalidValue } from '../../src/kubernetes/field-error.ts';
import { isFields, isList, type Value } from '../../src/kubernetes/object.ts';
import { type Schema, schemaOfField, type ValidationRule } from '../../src/kubernetes/schema/schema.ts';
import { notSupported } from '../unsupported.ts';
import { formatFieldPath } from './field-path.ts';
import { matchesPattern } from './pattern.ts';

/** Evaluates the rules of a schema on an object. Skips a rule that uses `oldSelf` if there is no old value to compare with. */
export function validateRules(object: Value, schema: Schema, old?: Value): readonly FieldError[] {
  return checkTree({ value: object, old, schema: withTypeAndName(schema), path: '' });
}

/** Returns true if the schema, or a schema in it, has rules. */
export function hasRules(schema: Schema | undefined): boolean {
  if (schema === undefined) return false;
  const { items, additionalProperties: values, properties = {} } = schema;
  const children = [items, typeof values === 'object' ? values : undefined, ...Object.values(properties)];
  return (schema['x-kubernetes-validations'] ?? []).length > 0 || children.some(hasRules);
}

/** Returns the error text for an unsupported or invalid rule; undefined for a supported rule. */
export function findRuleProblem({ rule = '', reason, fieldPath: path = '', ...rest }: Partial<ValidationRule>): string | undefined {
  const { messageExpression, optionalOldSelf } = rest;
  if (reason === 'FieldValueRequired' || reason === 'FieldValueDuplicate') return notSupported(`the reason ${reason}`);
  if (messageExpression !== undefined) return notSupported('messageExpression');
  if (optionalOldSelf !== undefined) return notSupported('optionalOldSelf');
  if (/__\w+__/.test(rule)) return notSupported('escaped field names in rules');
  if (!/^(\.\w+)*$/.test(path)) return notSupported('a fieldPath that is not a path of plain field names such as .spec.name');
  const { valid, error } = CEL.check(rule);
  return valid
    ? undefined
    : notSupported(`this rule, or the rule is invalid (${String((error as Error | undefined)?.message).split('\n')[0]})`);
}

interface Node {
  readonly value: Value;
  /** Old value at the same path; undefined for a new value and below lists. */
  readonly old: Value | undefined;
  readonly schema: Schema;
  readonly path: string;
}

function checkTree(node: Node): readonly FieldError[] {
  const { value, old, schema, path } = node;
  if (value === null) return [];
  if (isList(value)) {
    const { items } = schema;
    const below =
      items === undefined
        ? []
        : value.flatMap((item, index) => checkTree({ value: item, old: undefined, schema: items, path: `${path}[${index}]` }));
    return [...checkRules(node), ...below];
  }
  if (!isFields(value)) return checkRules(node);
  const below = Object.entries(value).flatMap(([key, field]) => {
    const fieldSchema = schemaOfField(schema, key);
    if (field === undefined || fieldSchema === undefined) return [];
    const before = isFields(old) && Object.hasOwn(old, key) ? old[key] : undefined;
    return checkTree({ value: field, old: before, schema: fieldSchema, path: formatFieldPath(path, key, schema) });
  });
  return [...checkRules(node), ...below];
}

function checkRules({ value, old, schema, path }: Node): readonly FieldError[] {
  const rules = getCompiledRules(schema);
  if (rules.length === 0) return [];
  const self = toCel(value, schema);
  const hasOld = old !== undefined && old !== null;
  const oldSelf = hasOld ? toCel(old, schema) : undefined;
  return rules.flatMap(({ rule, usesOldSelf, evaluate }) => {
    if (usesOldSelf && !hasOld) return [];
    try {
      return evaluate({ self, oldSelf }) === true ? [] : [toFieldError(rule, value, schema, path)];
    } catch (error) {
      return [invalidValue(formatField(path), schema.type ?? '', formatEvaluationError(error, ruleNameOf(rule)))];
    }
  });
}

const CEL: Environment = new Environment({ homogeneousAggregateLiterals: false })
  .registerVariable('self', 'dyn')
  .registerVariable('oldSelf', 'dyn')
  .registerFunction('string.matchesPattern(string): bool', (text: string, pattern: string) => matchesPattern(pattern, text), {
    async: false,
  });

interface CompiledRule {
  readonly rule: ValidationRule;
  readonly usesOldSelf: boolean;
  readonly evaluate: (variables: { readonly self: unknown; readonly oldSelf: unknown }) => unknown;
}

const ruleCache = new WeakMap<readonly ValidationRule[], readonly CompiledRule[]>();

function getCompiledRules(schema: Schema): readonly CompiledRule[] {
  const rules = schema['x-kubernetes-validations'];
  if (rules === undefined) return [];
  const known = ruleCache.get(rules) ?? rules.map(compileRule);
  ruleCache.set(rules, known);
  return known;
}

function compileRule(rule: ValidationRule): CompiledRule {
  const program = CEL.parse(rule.rule);
  const usesOldSelf = prepareExpression(program.ast);
  return { rule, usesOldSelf, evaluate: (variables) => program({ ...variables }) as unknown };
}

/** Replaces calls of the library's `matches`, which can take exponential time. Returns true if the expression uses `oldSelf`. */
function prepareExpression(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if ('op' in node && 'args' in node) {
    if (node.op === 'id') return node.args === 'oldSelf';
    if (node.op === 'rcall' && Array.isArray(node.args) && node.args[0] === 'matches') node.args[0] = 'matchesPattern';
    return prepareExpression(node.args);
  }
  return Object.values(node).reduce<boolean>((found, child) => prepareExpression(child) || found, false);
}

/** Converts a value for CEL: integers to bigints, times to dates, base64 to bytes. Omits null and undeclared fields of structs. */
function toCel(value: Value, schema: Schema | undefined): unknown {
  if (isList(value)) return value.map((item) => toCel(item, schema?.items));
  if (isFields(value)) {
    const isStruct = schema?.properties !== undefined;
    const isVisible = ([key, field]: readonly [string, Value | undefined]) =>
      field !== undefined && !(isStruct && (field === null || schemaOfField(schema, key) === undefined));
    const entries = Object.entries(value).filter(isVisible);
    return new Map(entries.map(([key, field = null]) => [key, toCel(field, schemaOfField(schema, key))]));
  }
  if (typeof value === 'number') return schema?.type === 'number' || !Number.isInteger(value) ? value : BigInt(value);
  return typeof value === 'string' && schema?.type === 'string' ? toCelText(value, schema.format) : value;
}

function toCelText(text: string, format: string | undefined): unknown {
  if (format === 'date-time') return new Date(text);
  return format === 'byte' ? new Uint8Array(Buffer.from(text, 'base64')) : text;
}

/** Returns the schema with apiVersion, kind, metadata.name and metadata.generateName, which rules at the root can use. */
function withTypeAndName(schema: Schema): Schema {
  const text: Schema = { type: 'string' };
  const metadata: Schema = { type: 'object', properties: { name: text, generateName: text } };
  return { ...schema, properties: { ...schema.properties, apiVersion: text, kind: text, metadata } };
}

function toFieldError(rule: ValidationRule, value: Value, schema: Schema, path: string): FieldError {
  const field = formatField([path, (rule.fieldPath ?? '').replace(/^\./, '')].filter((part) => part !== '').join('.'));
  const { message = '' } = rule;
  const detail = message === '' ? `failed rule: ${ruleNameOf(rule)}` : message.trim();
  const isCompound = schema.type === 'object' || schema.type === 'array';
  if (rule.reason === 'FieldValueForbidden') return forbiddenValue(field, detail);
  return isCompound ? invalidOmitted(field, detail) : invalidValue(field, value, detail);
}

function ruleNameOf({ rule, message = '' }: ValidationRule): string {
  return (message === '' ? rule : message).trim();
}

/** Returns the error text for a failed evaluation, as kube-apiserver words it for common causes. */
function formatEvaluationError(error: unknown, rule: string): string {
  const { code = '', summary = String(error) } = error as { readonly code?: string; readonly summary?: string };
  if (code === 'no_such_overload' || code === 'no_matching_overload') {
    return `'no such overload': call arguments did not match a supported operator, function or macro signature for rule: ${rule}`;
  }
  return `${summary.replace(/^No such key/, 'no such key')} evaluating rule: ${rule}`;
}

function formatField(path: string): string {
  return path === '' ? '<nil>' : path;
}
