// Field selectors: `metadata.name=a,status.phase!=Active`.

import { compareUtf8 } from '../../std/go-text.ts';
import { SelectorError } from './selector.ts';

/** A field with the value that it must, or must not, have. */
export interface FieldTerm {
  readonly field: string;
  readonly operator: '=' | '!=';
  readonly value: string;
}

/** Terms that must all match, sorted by their text. */
export type FieldSelector = readonly FieldTerm[];

/** Parses a field selector; ignores empty terms. Throws a SelectorError if it is invalid. */
export function parseFieldSelector(text: string): FieldSelector {
  const terms = text.match(TERMS) ?? [];
  return terms.toSorted(compareUtf8).map((term) => parseTerm(term, text));
}

/** Returns a regular expression for selectors of these fields, for documentation. */
export function createFieldSelectorPattern(fields: readonly string[]): string {
  const names = fields.map((field) => field.replaceAll('.', '\\.')).join('|');
  const term = `(${names})(!=|==?)([^\\\\,=]|\\\\[\\\\,=])*`;
  return `^,*(${term}(,+${term})*,*)?$`;
}

/** Returns whether an object is selected; `valueOf` reads its fields. */
export function matchesFields(selector: FieldSelector, valueOf: (field: string) => string): boolean {
  return selector.every(({ field, operator, value }) => (valueOf(field) === value) === (operator === '='));
}

/** Returns the object name that the selector requires; undefined if it requires none. */
export function findRequiredName(selector: FieldSelector): string | undefined {
  return selector.find(({ field, operator }) => field === 'metadata.name' && operator === '=')?.value;
}

/** Pattern of the terms between commas. A backslash escapes the next character. */
const TERMS = /(?:[^\\,]|\\.|\\$)+/gsu;

const TERM = /^(.*?)(!=|==|=)(.*)$/su;

function parseTerm(term: string, selector: string): FieldTerm {
  const [, field, operator, value] = TERM.exec(term) ?? [];
  if (field === undefined || value === undefined) {
    throw new SelectorError(`invalid selector: '${selector}'; can't understand '${term}'`);
  }
  return { field, operator: operator === '!=' ? '!=' : '=', value: unescapeValue(value) };
}

function unescapeValue(value: string): string {
  return value.replace(/\\(.?)|[,=]/gsu, (text, escaped: string | undefined) => {
    if (escaped === undefined) throw new SelectorError(`invalid field selector: unescaped character in value: ${text.codePointAt(0)}`);
    if (!['\\', ',', '='].includes(escaped)) throw new SelectorError(`invalid field selector: invalid escape sequence: ${text}`);
    return escaped;
  });
}
