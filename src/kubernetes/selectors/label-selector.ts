// Label selectors: `env=prod,tier in (web,api),!legacy,weight>3`, and metav1.LabelSelector.

import { compareUtf8, quoteGoString } from '../../std/go-text.ts';
import { formatFieldError } from '../field-error.ts';
import { LabelSource } from '../names.ts';
import { createLabelRequirement, isSatisfied, type LabelOperator, type LabelRequirement, validateLabelKey } from './label-requirement.ts';
import { SelectorError } from './selector.ts';

/** Requirements that must all be satisfied, sorted by key. */
export type LabelSelector = readonly LabelRequirement[];

/** metav1.LabelSelector: a selector inside an object. */
export interface LabelSelectorObject {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

/** Parses a label selector; blank text selects everything. Throws a SelectorError if it is invalid. */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.peek() === END) return requirements;
  if (!startsRequirement(tokens.peek())) throw unexpectedToken(tokens.peek(), ", expected: !, identifier, or 'end of string'");
  for (;;) {
    requirements.push(parseRequirement(tokens));
    const next = tokens.take();
    if (next === END) return sortByKey(requirements);
    if (next !== ',') throw unexpectedToken(next, ", expected: ',' or 'end of string'");
    if (!startsRequirement(tokens.peek())) throw unexpectedToken(tokens.peek(), ", expected: identifier after ','");
  }
}

/** Pattern of label selectors, for documentation. The parser also accepts NUL characters and larger numbers. */
export const LABEL_SELECTOR_PATTERN = (() => {
  const { key, value } = LabelSource;
  const space = '[ \\t\\r\\n]';
  const listed = `\\(${space}*${value}${space}*(,${space}*${value}${space}*)*\\)`;
  const operations = [`${space}*(==?|!=)${space}*${value}`, `${space}*[<>]${space}*[0-9]{1,18}`, `${space}+(in|notin)${space}*${listed}`];
  const requirement = `(!${space}*${key}|${key}(${operations.join('|')})?)`;
  return `^${space}*(${requirement}${space}*(,${space}*${requirement}${space}*)*)?$`;
})();

/** Returns whether an object with these labels is selected. */
export function matchesLabels(selector: LabelSelector, labels: Readonly<Record<string, string>> | undefined): boolean {
  return selector.every((requirement) => isSatisfied(requirement, valueOf(labels, requirement.key)));
}

/** Converts a metav1.LabelSelector. Throws a SelectorError if it is invalid. */
export function toLabelSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelectorObject): LabelSelector {
  return sortByKey([
    ...Object.entries(matchLabels).map(([key, value]) => createLabelRequirement(key, '=', [value])),
    ...matchExpressions.map(({ key, operator, values = [] }) => createLabelRequirement(key, parseObjectOperator(operator), values)),
  ]);
}

/** Token at the end of the text. No other token is empty. */
const END = '';

const OPERATORS = new Map<string, LabelOperator>([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '=='],
  ['!=', '!='],
  ['>', 'gt'],
  ['<', 'lt'],
]);

/** Pattern of a token: a symbol, or a word between symbols. As in Kubernetes, a NUL ends a word; in place of a token, it ends the text. */
const TOKEN = /[ \t\r\n]*([=!]=|[=!(),<>]|[^\0 \t\r\n=!(),<>]+)\0?/y;

class Tokens {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    const token = new RegExp(TOKEN);
    const tokens: string[] = [];
    for (let match = token.exec(text); match !== null; match = token.exec(text)) tokens.push(match[1] ?? END);
    this.#tokens = tokens;
  }

  peek(): string {
    return this.#tokens[this.#next] ?? END;
  }

  take(): string {
    return this.#tokens[this.#next++] ?? END;
  }
}

function parseRequirement(tokens: Tokens): LabelRequirement {
  try {
    const negated = tokens.peek() === '!';
    if (negated) tokens.take();
    const key = parseKey(tokens);
    if (negated) return createLabelRequirement(key, '!', []);
    if (tokens.peek() === END || tokens.peek() === ',') return createLabelRequirement(key, 'exists', []);
    const operator = parseOperator(tokens);
    const values = operator === 'in' || operator === 'notin' ? parseValues(tokens) : [parseExactValue(tokens)];
    return createLabelRequirement(key, operator, values);
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    throw new SelectorError(`unable to parse requirement: ${error.message}`, { cause: error });
  }
}

function parseKey(tokens: Tokens): string {
  const key = tokens.take();
  if (!isWord(key)) throw unexpectedToken(key, ', expected: identifier');
  const [problem] = validateLabelKey(key, '<nil>');
  if (problem !== undefined) throw new SelectorError(formatFieldError(problem));
  return key;
}

function parseOperator(tokens: Tokens): LabelOperator {
  const token = tokens.take();
  const operator = OPERATORS.get(token);
  if (operator === undefined) throw unexpectedToken(token, ', expected: in, notin, =, ==, !=, gt, lt');
  return operator;
}

function parseExactValue(tokens: Tokens): string {
  if (tokens.peek() === END || tokens.peek() === ',') return '';
  const value = tokens.take();
  if (!isWord(value)) throw unexpectedToken(value, ', expected: identifier');
  return value;
}

/** Parses values in parentheses, sorted and without duplicates. An absent value is the empty string. */
function parseValues(tokens: Tokens): readonly string[] {
  const open = tokens.take();
  if (open !== '(') throw unexpectedToken(open, " expected: '('");
  const first = tokens.peek();
  if (first !== ')' && first !== ',' && !isWord(first)) throw unexpectedToken(first, ", expected: ',', ')' or identifier");
  const values = new Set<string>();
  for (;;) {
    values.add(parseListedValue(tokens));
    const next = tokens.take();
    if (next === ')') return [...values].sort(compareUtf8);
    if (next !== ',') throw unexpectedToken(next, ", expected: ',' or ')'");
  }
}

function parseListedValue(tokens: Tokens): string {
  const next = tokens.peek();
  if (isWord(next)) return tokens.take();
  if (next === ',' || next === ')') return '';
  throw unexpectedToken(next, ", expected: ',', or identifier");
}

function startsRequirement(token: string): boolean {
  return token === '!' || isWord(token);
}

function isWord(token: string): boolean {
  return /^[^=!(),<>]/.test(token);
}

function unexpectedToken(token: string, rest: string): SelectorError {
  return new SelectorError(`found '${token}'${rest}`);
}

function sortByKey(requirements: readonly LabelRequirement[]): LabelSelector {
  return requirements.toSorted((a, b) => compareUtf8(a.key, b.key));
}

function valueOf(labels: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

const OBJECT_OPERATORS = new Map<string, LabelOperator>([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

function parseObjectOperator(name: string): LabelOperator {
  const operator = OBJECT_OPERATORS.get(name);
  if (operator === undefined) throw new SelectorError(`${quoteGoString(name)} is not a valid label selector operator`);
  return operator;
}
