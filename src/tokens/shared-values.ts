// Shares equal parts of many objects, such as namespaces, specs and labels, so that each part takes memory only once.

// Limits of the cache, because tenants choose most values: the maximum length of a string and of the JSON of a value, and the minimum
// number of recent strings and values that the cache keeps.
const MAX_TEXT_LENGTH = 512;
const MAX_VALUE_LENGTH = 1_024;
const MAX_TEXTS = 8_192;
const MAX_VALUES = 2_048;

/** Keeps at least the last `size` entries, and at most twice as many. Unlike in `BoundedCache`, each operation takes constant time. */
class LastEntries<V> {
  readonly #size: number;
  #last = new Map<string, V>();
  #before: ReadonlyMap<string, V> = new Map();

  constructor(size: number) {
    this.#size = size;
  }

  get(key: string): V | undefined {
    const last = this.#last.get(key);
    if (last !== undefined) return last;
    const before = this.#before.get(key);
    if (before !== undefined) this.set(key, before);
    return before;
  }

  set(key: string, value: V): void {
    if (this.#last.size >= this.#size) {
      this.#before = this.#last;
      this.#last = new Map();
    }
    this.#last.set(key, value);
  }
}

const texts = new LastEntries<string>(MAX_TEXTS);
const values = new LastEntries<object>(MAX_VALUES);

/**
 * Replaces the named fields of an object, all by default, with equal strings and values from earlier calls. Objects and lists must be JSON.
 * They become shared, so callers must not modify them or rely on their identity.
 */
export function shareFields(object: object, names: readonly string[] = Object.keys(object)): void {
  const fields = object as Record<string, unknown>;
  for (const name of names) {
    const field = fields[name];
    if (typeof field === 'string') fields[name] = shareText(field);
    else if (typeof field === 'object' && field !== null) fields[name] = shareValue(field);
  }
}

function shareText(text: string): string {
  if (text.length > MAX_TEXT_LENGTH) return text;
  const known = texts.get(text);
  if (known === undefined) texts.set(text, text);
  return known ?? text;
}

function shareValue(value: object): object {
  const json = JSON.stringify(value);
  const known = values.get(json);
  if (known !== undefined) return known;
  shareFields(value);
  if (json.length <= MAX_VALUE_LENGTH) values.set(json, value);
  return value;
}
