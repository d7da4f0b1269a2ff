// Values that others sent and that may be anything.

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The fields of an object; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** The text; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** An identifier that can be written into annotations and status; undefined for anything else, which could be a whole text. */
export function identifierOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,128}$/.test(value) ? value : undefined;
}

/** The UID of an object. */
export function uidOf(object: unknown): string | undefined {
  return identifierOf(fieldsOf(fieldsOf(object)['metadata'])['uid']);
}

/** Reports whether the object has this kind and apiVersion. */
export function isKind(value: unknown, apiVersion: string, kind: string): boolean {
  const fields = fieldsOf(value);
  return fields['apiVersion'] === apiVersion && fields['kind'] === kind;
}
