// Objects with optional fields.

/** Returns the object without its undefined fields, for `exactOptionalPropertyTypes` and for JSON. */
export function omitUndefined<T extends object>(fields: { readonly [Name in keyof T]: T[Name] | undefined }): T {
  const kept: Partial<T> = {};
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name];
  return kept as T;
}
