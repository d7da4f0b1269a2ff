// Rules as programs: compiled once per schema, evaluated on values of any shape.

import type { Schema, ValidationRule } from '../../../src/kubernetes/schema/schema.ts';
import { compilationProblem } from './compile-errors.ts';
import { CEL, SAFE_MATCHES } from './environment.ts';
import { withWideHas } from './has.ts';
import { typedEnvironment } from './types.ts';

export interface CompiledRule {
  readonly rule: ValidationRule;
  readonly usesOldSelf: boolean;
  readonly evaluate: Program;
  readonly message: Program | undefined;
}

/** Throws what goes wrong while a rule runs. */
export type Program = (self: unknown, oldSelf: unknown) => unknown;

/** The rules that stand at one schema, without those below it. */
export function compiledRules(schema: Schema): readonly CompiledRule[] {
  const rules = schema['x-kubernetes-validations'];
  if (rules === undefined) return [];
  const known = cache.get(rules);
  if (known !== undefined) return known;
  const fresh = rules.filter(({ rule }) => rule.trim() !== '').map(compile);
  cache.set(rules, fresh);
  return fresh;
}

const cache = new WeakMap<readonly ValidationRule[], readonly CompiledRule[]>();

/** Rules run without types, so that values keep their plain form; the types have been checked when the CRD came. */
const UNTYPED = CEL.clone().registerVariable('self', 'dyn').registerVariable('oldSelf', 'dyn');

function compile(rule: ValidationRule): CompiledRule {
  const { program, usesOldSelf } = parsed(rule.rule);
  const message = rule.messageExpression === undefined ? undefined : parsed(rule.messageExpression).program;
  return { rule, usesOldSelf, evaluate: program, message };
}

function parsed(expression: string): { program: Program; usesOldSelf: boolean } {
  const expressionProgram = UNTYPED.parse(withWideHas(expression, UNTYPED));
  const usesOldSelf = prepare(expressionProgram.ast);
  return { program: (self, oldSelf): unknown => expressionProgram({ self, oldSelf }), usesOldSelf };
}

/** Makes the syntax tree call the safe `matches`, and says whether it mentions oldSelf. */
function prepare(node: unknown): boolean {
  if (typeof node !== 'object' || node === null) return false;
  if ('op' in node && 'args' in node) {
    if (node.op === 'id') return node.args === 'oldSelf';
    if (node.op === 'rcall' && Array.isArray(node.args) && node.args[0] === 'matches') node.args[0] = SAFE_MATCHES;
    return prepare(node.args);
  }
  return Object.values(node).reduce<boolean>((found, child) => prepare(child) || found, false);
}

/** The optional oldSelf of rules that ask for it. */
export function optionalOf(value: unknown): unknown {
  return value === undefined ? UNTYPED.evaluate('optional.none()') : UNTYPED.evaluate('optional.of(self)', { self: value });
}

/** Whether an expression compares with the old value. */
export function mentionsOldSelf(expression: string): boolean {
  return parsed(expression).usesOldSelf;
}

export interface Expectation {
  readonly wanted: 'bool' | 'string';
  readonly optionalOldSelf: boolean;
}

/** Why an expression cannot be compiled for values of this schema, or does not yield what is wanted. */
export function expressionProblem(expression: string, schema: Schema, { wanted, optionalOldSelf }: Expectation): string | undefined {
  const environment = typedEnvironment(schema, optionalOldSelf);
  if (environment === undefined) return 'compilation failed: rules cannot see values of this schema';
  const problem = compilationProblem(expression, environment);
  if (problem !== undefined) return `compilation failed: ${problem}`;
  const { type } = environment.check(withWideHas(expression, environment));
  const isWanted = type === wanted || type === 'dyn';
  return isWanted ? undefined : wanted === 'bool' ? 'cel expression must evaluate to a bool' : 'must evaluate to a string';
}
