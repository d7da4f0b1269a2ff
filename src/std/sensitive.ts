// Secrets in memory, which print as [redacted].

const REDACTED = '[redacted]';

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
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED;
  }
}

/** Replaces all occurrences of a known secret with [redacted]. */
export function redactSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, REDACTED);
}

/** Replaces everything that looks like a JWT with [redacted]. */
export function redactTokens(text: string): string {
  return text.replace(JWT, REDACTED);
}

const JWT = /eyJ[\w-]{5,}\.[\w-]+(\.[\w-]*)?/g;
