// Encodes YAML like Kubernetes: sorted keys, block style, lists not indented, long lines folded after column 80.

import { encodeGoJsonNumber, formatGoFloat } from '../../../std/go-text.ts';
import { isFields, isList, type Value } from '../../object.ts';
import { compareYamlKeys } from './keys.ts';
import { chooseScalarStyle, escapeInDoubleQuotes, isLineBreak, isSimpleKey, type ScalarStyle } from './style.ts';

/** Encodes a JSON value as YAML for `Accept: application/yaml`. */
export function encodeYaml(value: Value): string {
  const writer = new YamlWriter();
  writer.document(value);
  return writer.text;
}

const INDENT = 2;
const BEST_WIDTH = 80;

class YamlWriter {
  text = '';
  #column = 0;
  /** True while the line contains only indentation and indicators. */
  #isIndentation = true;
  /** True if the next word needs no space before it. */
  #isSpaced = true;

  document(value: Value): void {
    this.#node(value, -INDENT, false);
    this.#startLine(0);
  }

  /** Writes a value. A list below a key is not indented. */
  #node(value: Value | undefined, parentIndent: number, indentless: boolean): void {
    if (isList(value) && value.length > 0) this.#sequence(value, indentless ? parentIndent : parentIndent + INDENT);
    else if (isFields(value) && Object.keys(value).length > 0) this.#mapping(value, parentIndent + INDENT);
    else if (typeof value === 'string') this.#string(value, Math.max(parentIndent, 0) + INDENT, false);
    else this.#word(formatWord(value));
  }

  #sequence(items: readonly Value[], indent: number): void {
    for (const item of items) {
      this.#startLine(indent);
      this.#indicator('-');
      this.#node(item, indent, false);
    }
  }

  #mapping(fields: Readonly<Record<string, Value | undefined>>, indent: number): void {
    for (const key of Object.keys(fields).sort(compareYamlKeys)) {
      this.#startLine(indent);
      if (isSimpleKey(key)) {
        this.#string(key, indent + INDENT, true);
        this.#put(':');
      } else {
        this.#indicator('?');
        this.#string(key, indent + INDENT, false);
        this.#startLine(indent);
        this.#indicator(':');
      }
      this.#node(fields[key], indent, !this.#isIndentation);
    }
  }

  #string(text: string, indent: number, isKey: boolean): void {
    const style = chooseScalarStyle(text, isKey);
    if (style === 'literal') {
      this.#literal(text, indent);
      return;
    }
    const quote = QUOTES[style];
    this.#word(quote);
    this.#folded(text, { style, indent, folds: !isKey });
    this.#put(quote);
  }

  #literal(text: string, indent: number): void {
    this.#word(`|${formatBlockHints(text)}`);
    this.#lineBreak();
    this.#isIndentation = true;
    this.#isSpaced = true;
    this.#lines(text, indent);
  }

  /** Writes characters with their line breaks; indents lines that are not empty. */
  #lines(text: string, indent: number): void {
    for (const part of text.split(/([\n\u2028\u2029])/)) {
      if (part === '') continue;
      if (isLineBreak(part)) {
        this.text += part;
        this.#column = 0;
        this.#isIndentation = true;
      } else {
        if (this.#isIndentation) this.#startLine(indent);
        this.text += part;
        this.#column += part.length;
        this.#isIndentation = false;
      }
    }
  }

  #folded(text: string, { style, indent, folds }: Folding): void {
    const chars = Array.from(text);
    for (const [index, char] of chars.entries()) {
      const next = chars[index + 1];
      if (isLineBreak(char) && style === 'single') {
        this.#lines(char, indent);
      } else if (folds && this.#column > BEST_WIDTH && isFoldable(chars, index, style)) {
        this.#startLine(indent);
        if (next === ' ') this.#put('\\');
      } else {
        if (this.#isIndentation && isLineBreak(chars[index - 1] ?? '')) this.#startLine(indent);
        this.#put(style === 'plain' ? char : escapeChar(char, style));
      }
    }
  }

  #word(text: string): void {
    if (!this.#isSpaced) this.#put(' ');
    this.#put(text);
  }

  #indicator(text: string): void {
    const isIndentation = this.#isIndentation;
    this.#word(text);
    this.#isIndentation = isIndentation;
  }

  #put(text: string): void {
    if (text === '') return;
    this.text += text;
    this.#column += Array.from(text).length;
    this.#isIndentation = false;
    this.#isSpaced = false;
  }

  #startLine(indent: number): void {
    if (!this.#isIndentation || this.#column > indent || (this.#column === indent && !this.#isSpaced)) this.#lineBreak();
    this.text += ' '.repeat(Math.max(0, indent - this.#column));
    this.#column = Math.max(indent, this.#column);
    this.#isIndentation = true;
    this.#isSpaced = true;
  }

  #lineBreak(): void {
    this.text += '\n';
    this.#column = 0;
  }
}

interface Folding {
  readonly style: ScalarStyle;
  readonly indent: number;
  readonly folds: boolean;
}

const QUOTES: Readonly<Record<ScalarStyle, string>> = { plain: '', single: "'", double: '"', literal: '' };

function formatWord(value: Value | undefined): string {
  if (isList(value)) return '[]';
  if (isFields(value)) return '{}';
  if (typeof value === 'number') return isInteger64(value) ? encodeGoJsonNumber(value + 0) : formatGoFloat(value);
  return String(value ?? null);
}

/** Returns whether Go encodes the number as an integer: a safe integer, or an integer that fits into uint64 but not into int64. */
function isInteger64(value: number): boolean {
  return Number.isSafeInteger(value) || (value >= 2 ** 63 && value < 2 ** 64);
}

/** Returns whether a line can break at this character: a single space inside the text or, in double quotes, the first of several. */
function isFoldable(chars: readonly string[], index: number, style: ScalarStyle): boolean {
  if (chars[index] !== ' ' || chars[index - 1] === ' ' || index === 0 || index === chars.length - 1) return false;
  return style === 'double' || chars[index + 1] !== ' ';
}

function escapeChar(char: string, style: ScalarStyle): string {
  if (style === 'double') return escapeInDoubleQuotes(char);
  return char === "'" ? "''" : char;
}

/** Returns the indicators of a block scalar: for its indentation if the text starts with white space, and for its trailing line breaks. */
function formatBlockHints(text: string): string {
  const indentation = /^[ \n\u2028\u2029]/.test(text) ? String(INDENT) : '';
  if (!/[\n\u2028\u2029]$/.test(text)) return `${indentation}-`;
  return /^[\n\u2028\u2029]$|[\n\u2028\u2029]{2}$/.test(text) ? `${indentation}+` : indentation;
}
