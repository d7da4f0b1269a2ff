// The body of a long list in pieces, so that a large list does not block other requests.

import { type BodyFormat, type ListParts, yamlOf } from './encode.ts';
import { jsonIndenter } from './ordered-json.ts';

/** The pieces of what `formatBody` makes of the whole list. */
export function formatList(list: ListParts, { mediaType, pretty }: BodyFormat): Iterable<string> {
  if (mediaType === 'yaml') return yamlPieces(list);
  return pretty ? jsonPieces(list).map(jsonIndenter()) : jsonPieces({ ...list, after: `${list.after}\n` });
}

function* jsonPieces({ before, items, after }: ListParts): Generator<string> {
  // The brackets of an empty list stay together, as they do when it is indented.
  let start = before;
  for (const item of items) {
    yield `${start}${item}`;
    start = ',';
  }
  yield start === before ? `${before}${after}` : after;
}

/** Items stand as far left as their key, so each of them is written as if it were alone. */
function* yamlPieces({ before, items, after }: ListParts): Generator<string> {
  const empty = yamlOf(`${before}${after}`);
  const [head = '', key = '', tail = ''] = empty.split(EMPTY_LIST);
  let start = `${head}${key}\n`;
  for (const item of items) {
    yield `${start}${yamlOf(`[${item}]`)}`;
    start = '';
  }
  yield start === '' ? tail : empty;
}

/** Deeper values are not on their own line, or indented. */
const EMPTY_LIST = /^(items:|rows:) \[\]\n/m;
