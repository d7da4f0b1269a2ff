// Problems in lexemes that the `yaml` package accepts, but the YAML library of Kubernetes rejects.

/** Checks the lexemes of a document in order. */
export class LexemeCheck {
  /** Number of open `{` and `[`. */
  #flowLevel = 0;
  #previous = '';
  /** True after a scalar without quotes. */
  #isAfterPlain = false;
  /** True if there is a line break in or after the last lexeme that is not white space. */
  #hasBreak = false;

  /** Returns the problem with a lexeme; undefined if there is none. `next` is the character after it. */
  findProblem(lexeme: string, next = ' '): string | undefined {
    // The lexer emits a marker before every scalar without quotes or in block style.
    const isMarked = this.#previous === SCALAR;
    const problem = isMarked ? this.#findPlainProblem(lexeme) : (findIndicatorProblem(lexeme) ?? this.#findColonProblem(lexeme, next));
    if (!isMarked) this.#countFlow(lexeme);
    this.#previous = lexeme;
    this.#isAfterPlain = isMarked;
    this.#hasBreak = lexeme.includes('\n') || (this.#hasBreak && /^\s*$/.test(lexeme));
    return problem;
  }

  #findPlainProblem(lexeme: string): string | undefined {
    return this.#flowLevel > 0 && /^[:?]/.test(lexeme) ? 'found character that cannot start any token' : undefined;
  }

  /**
   * Returns the problem with a colon. In a flow collection, a key must be on one line, and white space must follow the colon of a plain key.
   */
  #findColonProblem(lexeme: string, next: string): string | undefined {
    if (this.#flowLevel === 0 || lexeme !== ':') return undefined;
    const isPartOfKey = this.#isAfterPlain && !/\s/.test(next);
    return isPartOfKey || this.#hasBreak ? "did not find expected ',' or '}'" : undefined;
  }

  #countFlow(lexeme: string): void {
    if (lexeme === '{' || lexeme === '[') this.#flowLevel += 1;
    else if (lexeme === '}' || lexeme === ']') this.#flowLevel -= 1;
  }
}

/** Returns whether a string contains the escape of one half of a surrogate pair, which YAML does not allow. */
export function hasSurrogateEscape(text: string): boolean {
  if (!SURROGATE.test(text)) return false;
  return text.matchAll(ESCAPE).some(([escape]) => SURROGATE.test(escape));
}

/** Lexeme before every scalar without quotes or in block style. */
const SCALAR = '\u001f';
const SURROGATE = /\\ud[89a-f]/i;
const ESCAPE = /\\(?:u.{4}|.)/gs;
const QUOTED_STRING = /^"[^"\\]*(?:\\.[^"\\]*)*"$/s;

function findIndicatorProblem(lexeme: string): string | undefined {
  if (/^[&*](?![\w-]+$)/.test(lexeme)) return 'did not find expected alphabetic or numeric character';
  if (!lexeme.startsWith('"')) return undefined;
  if (!QUOTED_STRING.test(lexeme)) return 'found unexpected end of stream';
  return hasSurrogateEscape(lexeme) ? 'found invalid Unicode character escape code' : undefined;
}
