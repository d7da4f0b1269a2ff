// The body of a long list in pieces, so that a large list does not block other requests.

import { type BodyFormat, jsonToYaml, type ListParts } from './encode.ts';
import { createJsonIndenter } from './ordered-json.ts';

/** Yields the body that `formatBody` would return for the list, in pieces. */
export function formatList(list: ListParts, { mediaType, pretty }: BodyFormat): Iterable<string> {
  if (mediaType === 'yaml') return formatYamlPieces(list);
  return pretty ? formatJsonPieces(list).map(createJsonIndenter()) : formatJsonPieces({ ...list, after: `${list.after}\n` });
}

function* formatJsonPieces({ before, items, after }: ListParts): Generator<string> {
  // The brackets of an empty list are in one piece, because the indenter treats them as one token.
  let start = before;
  for (const item of items) {
    yield `${start}${item}`;
    start = ',';
  }
  yield start === before ? `${before}${after}` : after;
}

/** Yields YAML. Each item can be encoded separately, because items are not indented below their key. */
function* formatYamlPieces({ before, items, after }: ListParts): Generator<string> {
  const empty = jsonToYaml(`${before}${after}`);
  const [head = '', key = '', tail = ''] = empty.split(EMPTY_LIST);
  let start = `${head}${key}\n`;
  for (const item of items) {
    yield `${start}${jsonToYaml(`[${item}]`)}`;
    start = '';
  }
  yield start === '' ? tail : empty;
}

/** Pattern of the empty list. Only top-level keys start at the beginning of a line. */
const EMPTY_LIST = /^(items:|rows:) \[\]\n/m;
