// Disclosure of hidden names in texts that tenants read.

/** Texts that tenants must not see, by description. */
export type Hidden = ReadonlyMap<string, string>;

/** Returns the descriptions of hidden texts that a text contains and that the reader has not written in `known`. */
export function disclosedIn(text: string, hidden: Hidden, known = ''): readonly string[] {
  return [...hidden].filter(([, secret]) => text.includes(secret) && !known.includes(secret)).map(([what]) => what);
}
