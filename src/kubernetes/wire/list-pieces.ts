// The body of a long list in pieces, so that a large list does not block other requests.

import { type BodyFormat, jsonToYaml, type ListParts } from './encode.ts';
import { jsonIndenter } from './ordered-json.ts';

/** Yields the result of `formatBody` for the list in pieces. */
export function formatList(list: ListParts, { mediaType, pretty }: BodyFormat): Iterable<string> {
  if (mediaType === 'yaml') return yamlPieces(list);
  return pretty ? jsonPieces(list).map(jsonIndenter()) : jsonPieces({ ...list, after: `${list.after}\n` });
}

function* jsonPieces({ before, items, after }: ListParts): Generator<string> {
  // The brackets of an empty list stay together, as in indented JSON.
  let start = before;
  for (const item of items) {
    yield `${start}${item}`;
    start = ',';
  }
  yield start === before ? `${before}${after}` : after;
}

/** Yields YAML. Items are not indented below their key, so each item is encoded separately. */
function* yamlPieces({ before, items, after }: ListParts): Generator<string> {
  const empty = jsonToYaml(`${before}${after}`);
  const [head = '', key = '', tail = ''] = empty.split(EMPTY_LIST);
  let start = `${head}${key}\n`;
  for (const item of items) {
    yield `${start}${jsonToYaml(`[${item}]`)}`;
    start = '';
  }
  yield start === '' ? tail : empty;
}

/** Only top-level values start at the beginning of a line. */
const EMPTY_LIST = /^(items:|rows:) \[\]\n/m;
