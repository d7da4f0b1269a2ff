// Secrets in memory, which print as [redacted].

const REDACTED_TEXT = '[redacted]';

/** Holds a secret, which only `reveal` returns: log lines, JSON and error messages show [redacted]. */
export class Sensitive<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return REDACTED_TEXT;
  }

  toJSON(): string {
    return REDACTED_TEXT;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED_TEXT;
  }
}

/** Replaces all occurrences of a known secret with [redacted]. */
export function redactSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, REDACTED_TEXT);
}

/** Replaces everything that looks like a JWT with [redacted]. */
export function redactTokens(text: string): string {
  return text.replace(JWT, REDACTED_TEXT);
}

const JWT = /eyJ[\w-]{5,}\.[\w-]+(\.[\w-]*)?/g;
