// JSON with keys in insertion order, for values built in the order of their Go structs.

export { encodeGoStructJson as encodeOrderedJson } from '../../std/go-text.ts';

/** Indents compact JSON by two spaces like Go. */
export function indentJson(compact: string): string {
  return createJsonIndenter()(compact);
}

/** Returns a function that indents compact JSON piece by piece. Each piece must consist of whole tokens. */
export function createJsonIndenter(): (piece: string) => string {
  let margin = '\n';
  const indentToken = (token: string) => {
    switch (token) {
      case '{':
      case '[':
        margin += '  ';
        return `${token}${margin}`;
      case '}':
      case ']':
        margin = margin.slice(0, -2);
        return `${margin}${token}`;
      case ',':
        return `,${margin}`;
      case ':':
        return ': ';
      default:
        return token;
    }
  };
  return (piece) => piece.replace(TOKENS, indentToken);
}

/** Pattern of tokens. Strings and empty containers are one token each, and stay unchanged. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;
