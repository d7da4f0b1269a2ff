// Secrets in memory: they print as [redacted] wherever a value might be printed by accident.

const REDACTED = '[redacted]';

/** Holds a secret. `reveal` is the only way to it: no log line, JSON text or error message shows it. */
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

/** The text with a secret that is known blanked out wherever it stands. */
export function withoutSecret(text: string, secret: string | undefined): string {
  return secret === undefined || secret === '' ? text : text.replaceAll(secret, REDACTED);
}

/** A text without what looks like a JWT. For texts that others wrote: ours name no token in the first place. */
export function withoutTokens(text: string): string {
  return text.replace(JWT, REDACTED);
}

const JWT = /eyJ[\w-]{5,}\.[\w-]+(\.[\w-]*)?/g;
