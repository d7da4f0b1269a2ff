// JSON with keys in the order in which they stand, for values that were built in the order of their Go structs.

export { goStructJson as orderedJson } from '../../std/go-text.ts';

/** Compact JSON, indented by two spaces as Go does it. */
export function indentJson(compact: string): string {
  return jsonIndenter()(compact);
}

/** The same for a text that comes in pieces, each of whole tokens. */
export function jsonIndenter(): (piece: string) => string {
  let margin = '\n';
  const indented = (token: string) => {
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
  return (piece) => piece.replace(TOKENS, indented);
}

/** Strings and empty containers stay as they are. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;
