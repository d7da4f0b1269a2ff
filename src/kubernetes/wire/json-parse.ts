// Parses JSON like Go's encoding/json, with the same error messages. The parser reads bytes instead of characters, because Go's messages
// contain bytes.

import { quoteGoString } from '../../std/go-text.ts';
import { type JsonEntry, type JsonNode, type JsonScalar, MAX_DEPTH } from './json-node.ts';
import { decodeUtf8 } from './utf8.ts';

/** Parses a document, or throws an Error with Go's message. For JSON from the server itself, `maxDepth` can be infinite. */
export function parseJson(body: Uint8Array, maxDepth = MAX_DEPTH): JsonNode {
  return new JsonScanner(body, maxDepth).document();
}

const END = -1;
const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const LITERALS: ReadonlyMap<number, readonly [string, JsonScalar]> = new Map([
  [0x74, ['true', { type: 'boolean', value: true }]],
  [0x66, ['false', { type: 'boolean', value: false }]],
  [0x6e, ['null', { type: 'null' }]],
]);
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

/** An open list, or an open object with the key of its next value. */
type Open =
  | { readonly type: 'array'; readonly items: JsonNode[] }
  | { readonly type: 'object'; readonly entries: JsonEntry[]; key: string };

class JsonScanner {
  readonly #bytes: Buffer;
  #position = 0;
  readonly #open: Open[] = [];

  readonly #maxDepth: number;

  constructor(body: Uint8Array, maxDepth: number) {
    this.#maxDepth = maxDepth;
    this.#bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }

  document(): JsonNode {
    for (;;) {
      let node = this.#begin();
      while (node !== undefined) {
        const parent = this.#open.at(-1);
        if (parent === undefined) return this.#finish(node);
        if (parent.type === 'array') parent.items.push(node);
        else parent.entries.push({ key: parent.key, value: node });
        node = this.#afterElement(parent);
      }
    }
  }

  /** Reads a scalar or an empty container; opens any other container and returns undefined. */
  #begin(): JsonNode | undefined {
    const byte = this.#skipSpace();
    if (byte === OPEN_BRACE) return this.#beginObject();
    if (byte === OPEN_BRACKET) return this.#beginArray();
    if (byte === QUOTE) return { type: 'string', value: this.#string() };
    if (byte === MINUS || isDigit(byte)) return { type: 'number', text: this.#number() };
    const literal = LITERALS.get(byte);
    if (literal === undefined) throw this.#unexpected('looking for beginning of value');
    return this.#literal(...literal);
  }

  #beginObject(): JsonNode | undefined {
    this.#deepen();
    if (this.#skipSpace() === CLOSE_BRACE) {
      this.#position++;
      return { type: 'object', entries: [] };
    }
    this.#open.push({ type: 'object', entries: [], key: this.#key() });
    return undefined;
  }

  #beginArray(): JsonNode | undefined {
    this.#deepen();
    if (this.#skipSpace() === CLOSE_BRACKET) {
      this.#position++;
      return { type: 'array', items: [] };
    }
    this.#open.push({ type: 'array', items: [] });
    return undefined;
  }

  #deepen(): void {
    if (this.#open.length >= this.#maxDepth) throw this.#unexpected('exceeded max depth');
    this.#position++;
  }

  #key(): string {
    if (this.#skipSpace() !== QUOTE) throw this.#unexpected('looking for beginning of object key string');
    const key = this.#string();
    if (this.#skipSpace() !== COLON) throw this.#unexpected('after object key');
    this.#position++;
    return key;
  }

  /** Reads the character after an element of `parent`. Returns undefined after a comma, and the closed container after its bracket. */
  #afterElement(parent: Open): JsonNode | undefined {
    const byte = this.#skipSpace();
    if (byte === (parent.type === 'array' ? CLOSE_BRACKET : CLOSE_BRACE)) {
      this.#position++;
      this.#open.pop();
      return parent.type === 'array' ? parent : { type: 'object', entries: parent.entries };
    }
    if (byte !== COMMA) throw this.#unexpected(parent.type === 'array' ? 'after array element' : 'after object key:value pair');
    this.#position++;
    if (parent.type === 'object') parent.key = this.#key();
    return undefined;
  }

  #finish(node: JsonNode): JsonNode {
    if (this.#skipSpace() !== END) throw this.#unexpected('after top-level value');
    return node;
  }

  #literal(word: string, node: JsonScalar): JsonNode {
    for (const expected of word) {
      if (this.#peek() !== expected.charCodeAt(0)) throw this.#unexpectedIn(`in literal ${word} (expecting '${expected}')`);
      this.#position++;
    }
    return node;
  }

  #number(): string {
    const start = this.#position;
    if (this.#peek() === MINUS) this.#position++;
    if (this.#peek() === ZERO) this.#position++;
    else this.#digits('in numeric literal');
    if (this.#peek() === DOT) {
      this.#position++;
      this.#digits('after decimal point in numeric literal');
    }
    if (isOneOf(this.#peek(), 'eE')) {
      this.#position++;
      if (isOneOf(this.#peek(), '+-')) this.#position++;
      this.#digits('in exponent of numeric literal');
    }
    return this.#bytes.toString('latin1', start, this.#position);
  }

  #digits(context: string): void {
    if (!isDigit(this.#peek())) throw this.#unexpectedIn(context);
    while (isDigit(this.#peek())) this.#position++;
  }

  #string(): string {
    this.#position++;
    let text = this.#plainCharacters();
    while (this.#peek() === BACKSLASH) text += this.#escape() + this.#plainCharacters();
    if (this.#peek() !== QUOTE) throw this.#unexpected('in string literal');
    this.#position++;
    return text.toWellFormed();
  }

  #plainCharacters(): string {
    const start = this.#position;
    let ascii = true;
    for (let byte = this.#peek(); byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH; byte = this.#peek()) {
      if (byte >= 0x80) ascii = false;
      this.#position++;
    }
    return ascii ? this.#bytes.toString('latin1', start, this.#position) : decodeUtf8(this.#bytes.subarray(start, this.#position));
  }

  #escape(): string {
    this.#position++;
    const letter = String.fromCharCode(this.#peek());
    if (letter === 'u') return this.#unicodeEscape();
    const char = ESCAPES[letter];
    if (char === undefined) throw this.#unexpectedIn('in string escape code');
    this.#position++;
    return char;
  }

  #unicodeEscape(): string {
    this.#position++;
    const start = this.#position;
    while (this.#position < start + 4) {
      if (!isOneOf(this.#peek(), '0123456789abcdefABCDEF')) throw this.#unexpectedIn('in \\u hexadecimal character escape');
      this.#position++;
    }
    return String.fromCharCode(Number.parseInt(this.#bytes.toString('latin1', start, this.#position), 16));
  }

  #skipSpace(): number {
    let byte = this.#peek();
    while (byte === 0x20 || (byte >= 0x09 && byte <= 0x0d && byte !== 0x0b && byte !== 0x0c)) {
      this.#position++;
      byte = this.#peek();
    }
    return byte;
  }

  #peek(): number {
    return this.#bytes[this.#position] ?? END;
  }

  #unexpected(context: string): Error {
    return this.#peek() === END ? new Error('unexpected end of JSON input') : this.#unexpectedIn(context);
  }

  /** Returns the error for the next byte inside a token, where Go treats the end of input like a space. */
  #unexpectedIn(context: string): Error {
    const char = this.#peek() === END ? ' ' : String.fromCharCode(this.#peek());
    return new Error(`invalid character ${quoteChar(char)} ${context}`);
  }
}

function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= 0x39;
}

function isOneOf(byte: number, chars: string): boolean {
  return byte !== END && chars.includes(String.fromCharCode(byte));
}

function quoteChar(char: string): string {
  if (char === "'") return "'\\''";
  return char === '"' ? `'"'` : `'${quoteGoString(char).slice(1, -1)}'`;
}
