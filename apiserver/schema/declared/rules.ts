// The rules of a schema: whether they are well-formed, and whether they can be compiled for the values of the schema.

import { type FieldError, invalidStruct, invalidValue, requiredValue, unsupportedValue } from '../../../src/kubernetes/field-error.ts';
import type { Schema, ValidationRule } from '../../../src/kubernetes/schema/schema.ts';
import { expressionProblem, mentionsOldSelf } from '../cel/compile.ts';
import { rulePath } from '../cel/rule-path.ts';
import { typedEnvironment } from '../cel/types.ts';
import { withTypeAndName } from '../cel/values.ts';
import type { Place } from './place.ts';

const REASONS = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

/** What is wrong with the form of a schema's rules. */
export function ruleErrors(schema: Schema, path: string): readonly FieldError[] {
  return (schema['x-kubernetes-validations'] ?? []).flatMap((rule, index) => {
    const field = `${path}.x-kubernetes-validations[${index}]`;
    return [...textErrors(rule, field), ...reasonErrors(rule, field), ...pathErrors(rule, schema, field)];
  });
}

function textErrors({ rule = '', message = '', messageExpression = '' }: Partial<ValidationRule>, field: string): readonly FieldError[] {
  const blank = messageExpression !== '' && messageExpression.trim() === '';
  const ofExpression = blank ? [requiredValue(`${field}.messageExpression`, 'messageExpression must be non-empty if specified')] : [];
  return [...ruleTextErrors(rule.trim(), message, field), ...ofExpression];
}

function ruleTextErrors(rule: string, message: string, field: string): readonly FieldError[] {
  const text = message.trim();
  if (rule === '') return [requiredValue(`${field}.rule`, 'rule is not specified')];
  if (message !== '' && text === '') return [invalidValue(`${field}.message`, message, 'must be non-empty if specified')];
  if (LINE_BREAK.test(text)) return [invalidValue(`${field}.message`, message, 'must not contain line breaks')];
  return LINE_BREAK.test(rule) && text === ''
    ? [requiredValue(`${field}.message`, 'message must be specified if rule contains line breaks')]
    : [];
}

const LINE_BREAK = /[\n\r]/;

function reasonErrors({ reason }: ValidationRule, field: string): readonly FieldError[] {
  return reason === undefined || REASONS.includes(reason) ? [] : [unsupportedValue(`${field}.reason`, reason, REASONS)];
}

function pathErrors({ fieldPath = '' }: ValidationRule, schema: Schema, field: string): readonly FieldError[] {
  if (fieldPath === '') return [];
  const wrong = (detail: string) => invalidValue(`${field}.fieldPath`, fieldPath, detail);
  return [
    ...(fieldPath.trim() === '' ? [wrong('must be non-empty if specified')] : []),
    ...(LINE_BREAK.test(fieldPath) ? [wrong('must not contain line breaks')] : []),
    ...(rulePath(fieldPath, schema) === '' ? [wrong('must be a valid path')] : []),
  ];
}

/** Why rules of a well-formed schema cannot be compiled. */
export function compilationErrors(schema: Schema, { path, isRoot, uncorrelated }: Place): readonly FieldError[] {
  const seen = isRoot || schema['x-kubernetes-embedded-resource'] ? withTypeAndName(schema) : schema;
  const rules = schema['x-kubernetes-validations'] ?? [];
  if (rules.length > 0 && typedEnvironment(seen, false) === undefined) return [unseen(path)];
  return rules.flatMap((rule, index) => {
    const field = `${path}.x-kubernetes-validations[${index}]`;
    const problem = expressionProblem(rule.rule, seen, { wanted: 'bool', optionalOldSelf: rule.optionalOldSelf === true });
    if (problem !== undefined) return [invalidStruct(`${field}.rule`, structOf(rule), problem)];
    return [...messageErrors(rule, seen, field), ...oldSelfErrors(rule, uncorrelated, field)];
  });
}

/** Rules on values without a type that CEL knows. */
function unseen(path: string): FieldError {
  const detail =
    'failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations';
  return { type: 'InternalError', field: `${path}.x-kubernetes-validations`, body: `Internal error: internal error: ${detail}` };
}

function messageErrors(rule: ValidationRule, schema: Schema, field: string): readonly FieldError[] {
  const { messageExpression = '', optionalOldSelf = false } = rule;
  if (messageExpression === '') return [];
  const problem = expressionProblem(messageExpression, schema, { wanted: 'string', optionalOldSelf });
  return problem === undefined ? [] : [invalidStruct(`${field}.messageExpression`, structOf(rule), `messageExpression ${problem}`)];
}

function oldSelfErrors({ rule, optionalOldSelf }: ValidationRule, uncorrelated: string | undefined, field: string): readonly FieldError[] {
  if (!mentionsOldSelf(rule)) {
    const detail = 'may not be set if oldSelf is not used in rule';
    return optionalOldSelf === undefined ? [] : [invalidValue(`${field}.optionalOldSelf`, optionalOldSelf, detail)];
  }
  if (uncorrelated === undefined) return [];
  const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${uncorrelated}`;
  return [invalidValue(`${field}.rule`, rule, detail)];
}

/** A rule as Go's internal struct prints it. */
function structOf({ rule, message = '', messageExpression = '', reason = '', fieldPath = '', optionalOldSelf }: ValidationRule): object {
  return {
    Rule: rule,
    Message: message,
    MessageExpression: messageExpression,
    Reason: reason === '' ? null : reason,
    FieldPath: fieldPath,
    OptionalOldSelf: optionalOldSelf ?? null,
  };
}
