// Path and query of a request, with the decoding rules of Go's net/url.

export interface RequestUrl {
  /** Percent-decoded path, not yet split into segments. */
  readonly path: string;
  readonly query: URLSearchParams;
}

/** Returns the path and the query of a request; undefined if the path cannot be decoded. */
export function parseUrl(url: string): RequestUrl | undefined {
  const [path = '', ...rest] = url.split('?');
  return BAD_ESCAPE.test(path) ? undefined : { path: decodePercent(path), query: parseQuery(rest.join('?')) };
}

const BAD_ESCAPE = /%(?![0-9a-f]{2})/i;

/** Decodes byte by byte, so that an invalid UTF-8 sequence does not affect the rest of the text. */
function decodePercent(text: string): string {
  if (PLAIN_TEXT.test(text)) return text;
  const bytes = text.replace(/%([0-9a-f]{2})|[^\0-\x7f]/gi, (char, hex: string | undefined) =>
    hex === undefined ? Buffer.from(char).toString('latin1') : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

const PLAIN_TEXT = /^[^%\x80-\uffff]*$/;

/** Parses a query without the parameters that Go cannot decode. */
function parseQuery(text: string): URLSearchParams {
  if (text === '') return new URLSearchParams();
  const readable = text.split('&').filter((pair) => !pair.includes(';') && !BAD_ESCAPE.test(pair));
  return new URLSearchParams(readable.join('&'));
}
