// Parses YAML bodies like Kubernetes: YAML 1.1, first document only, converted to JSON with sorted keys.

import { isUtf8 } from 'node:buffer';
import { Composer, type CST, type Document, Lexer, LineCounter, Parser } from 'yaml';
import { findDuplicateFields, type JsonNode, toNode, toValue } from '../json-node.ts';
import { parseJson } from '../json-parse.ts';
import { tooLarge } from '../read-body.ts';
import { hasSurrogateEscape, LexemeCheck } from './lexemes.ts';
import { formatYamlProblem, MAX_YAML_DEPTH, TOO_DEEP } from './problem.ts';
import { YamlReader } from './reader.ts';

export interface YamlDocument {
  readonly node: JsonNode;
  /** Error of strict decoding for repeated keys; undefined if there are none. */
  readonly duplicates?: string;
}

/** Limits on YAML that is not JSON. */
export interface YamlLimits {
  /** Maximum size, in bytes. */
  readonly maxBytes: number;
  /** False to reject aliases: with many of them, a small document can repeat a large value. */
  readonly allowAliases: boolean;
}

const NO_LIMITS: YamlLimits = { maxBytes: Number.POSITIVE_INFINITY, allowAliases: true };

/** Parses the first document of a YAML stream. Throws an Error if the document is invalid, and 413 for YAML above `maxBytes`. */
export function parseYaml(body: Uint8Array, { maxBytes, allowAliases }: YamlLimits = NO_LIMITS): YamlDocument {
  checkCharacters(body);
  const json = parseAsJson(body);
  if (json !== undefined) return { node: json };
  if (body.length > maxBytes) throw tooLarge(maxBytes);
  const text = Buffer.from(body).toString();
  if (LINE_BREAKS.test(text)) throw new Error('yaml: line breaks other than LF and CR LF are not supported');
  const lines = new LineCounter();
  const document = composeFirstDocument(text, lines);
  if (document === undefined) return { node: { type: 'null' } };
  // The composer throws its errors, so only errors of the lexer remain.
  const [problem] = document.errors;
  if (problem !== undefined) throw new Error(formatYamlProblem(problem, lines));
  const reader = new YamlReader(document, lines, allowAliases);
  const node = reader.read();
  if (reader.duplicates.length === 0) return { node };
  return { node, duplicates: `yaml: unmarshal errors:\n${reader.duplicates.map((duplicate) => `  ${duplicate}`).join('\n')}` };
}

function checkCharacters(body: Uint8Array): void {
  if (!isUtf8(body)) throw new Error('yaml: invalid leading UTF-8 octet');
  if (FORBIDDEN_CHARACTER.test(Buffer.from(body).toString())) throw new Error('yaml: control characters are not allowed');
}

/** Pattern of line breaks of YAML 1.1 that the parser does not recognize. */
const LINE_BREAKS = /\r(?!\n)|[\u0085\u2028\u2029]/;
const UNICODE_BREAKS = /[\u0085\u2028\u2029]/;
const FORBIDDEN_CHARACTER = /[^\t\n\r\x20-\x7e\u0085\u00a0-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;

/**
 * Parses the body as JSON, because parsing JSON is much faster. Returns undefined if the body is not JSON, if YAML would reject it, or if
 * it has repeated keys, because errors for them need the line numbers of YAML.
 */
function parseAsJson(body: Uint8Array): JsonNode | undefined {
  const source = Buffer.from(body).toString();
  if (hasSurrogateEscape(source) || UNICODE_BREAKS.test(source)) return undefined;
  try {
    const node = parseJson(body);
    return findDuplicateFields(node, 1).length === 0 ? toNode(toValue(node)) : undefined;
  } catch {
    return undefined;
  }
}

function composeFirstDocument(text: string, lines: LineCounter): Document.Parsed | undefined {
  const composer = new Composer({ version: '1.1', schema: 'failsafe', uniqueKeys: false, lineCounter: lines });
  // The library would continue and create an error for each problem and warning. Creating errors is slower than all other work.
  Object.assign(composer, { onError: createProblemHandler(lines) });
  // `true` requests a document even for invalid text, because the document contains the errors.
  const [document] = composer.compose(lexTokens(text, lines), true, 0);
  return document;
}

/** Position, range or token of a problem. */
type ProblemSource = number | readonly number[] | { readonly offset: number };

/** Returns a function that receives problems and warnings of the composer. For each problem, it throws the error of the first problem. */
function createProblemHandler(lines: LineCounter) {
  // The library catches some of these errors and reports them as new problems.
  let first: Error | undefined;
  return (source: ProblemSource, _code: string, message: string, isWarning = false): void => {
    if (isWarning) return;
    const [at = 0] = [source].flat().map((start) => (typeof start === 'number' ? start : start.offset));
    first ??= new Error(formatYamlProblem({ message, pos: [at, at] }, lines));
    throw first;
  };
}

/**
 * Yields tokens up to the first invalid one: each later character could be another invalid token. Throws if a lexeme is invalid, or if
 * tokens nest too deeply.
 */
function* lexTokens(text: string, lines: LineCounter): Generator<CST.Token> {
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const check = new LexemeCheck();
  for (const lexeme of new Lexer().lex(text)) {
    const problem = check.findProblem(lexeme, text[parser.offset + lexeme.length]);
    if (problem !== undefined) throw new Error(formatYamlProblem({ message: problem, pos: [parser.offset, parser.offset] }, lines));
    for (const token of parser.next(lexeme)) {
      yield token;
      if (token.type === 'error') return;
    }
    // The first entry of the stack is the document. On a deep stack, the library runs out of memory before it reports an error.
    const { stack, offset } = parser;
    if (stack.length > MAX_YAML_DEPTH + 1) throw new Error(formatYamlProblem({ message: TOO_DEEP, pos: [offset, offset] }, lines));
  }
  yield* parser.end();
}
