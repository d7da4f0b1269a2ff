// JSON with keys in the order in which they stand, for values that were built in the order of their Go structs.

export { goStructJson as orderedJson } from '../../std/go-text.ts';

/** Compact JSON, indented by two spaces as Go does it; `depth` is how far its first line is indented already. */
export function indentJson(compact: string, depth = 0): string {
  let margin = `\n${' '.repeat(depth)}`;
  return compact.replace(TOKENS, (token) => {
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
  });
}

/** Strings and empty containers stay as they are. */
const TOKENS = /"(?:[^"\\]|\\.)*"|\{\}|\[\]|[{}[\],:]/g;
