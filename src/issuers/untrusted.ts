// Values from a target that may be anything.

export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object; none for anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** The text; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A UID as it can be written elsewhere; undefined for anything else. */
export function uidOf(value: unknown): string | undefined {
  const { uid } = fieldsOf(fieldsOf(value)['metadata']);
  return typeof uid === 'string' && /^[\x21-\x7e]{1,128}$/.test(uid) ? uid : undefined;
}

/** Whether the object says of itself that it is of this kind. */
export function isKind(value: unknown, apiVersion: string, kind: string): boolean {
  const fields = fieldsOf(value);
  return fields['apiVersion'] === apiVersion && fields['kind'] === kind;
}
