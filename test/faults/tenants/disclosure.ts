// Texts that tenants read: what in them names something that the reader does not know.

/** Texts that must not reach tenants, by what they are. */
export type Hidden = ReadonlyMap<string, string>;

/** Returns everything hidden that a text names and that the reader has not written in `known`. */
export function disclosedIn(text: string, hidden: Hidden, known = ''): readonly string[] {
  return [...hidden].filter(([, secret]) => text.includes(secret) && !known.includes(secret)).map(([what]) => what);
}
