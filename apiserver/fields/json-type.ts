// What Go's JSON decoder calls the types of JSON.

/** `object`, `array`, `string`, `number`, `bool` or `null`. */
export function jsonTypeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
}
