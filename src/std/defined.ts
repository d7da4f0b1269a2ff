// Objects whose fields may be absent.

/** The object without the fields that are undefined: absent is not the same on the wire. */
export function defined<T extends object>(fields: { readonly [Name in keyof T]: T[Name] | undefined }): T {
  const kept: Partial<T> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept as T;
}
