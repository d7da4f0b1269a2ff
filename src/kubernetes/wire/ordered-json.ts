// JSON with keys in insertion order, for values built in the order of their Go structs.

export { goStructJson as orderedJson } from '../../std/go-text.ts';

/** Indents compact JSON by two spaces like Go. */
export function indentJson(compact: string): string {
  return jsonIndenter()(compact);
}

/** Indents compact JSON that arrives in pieces, each of whole tokens. */
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

/** Strings and empty containers stay unchanged. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;
