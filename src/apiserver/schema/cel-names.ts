// Names of fields in CEL: what is not an identifier, or is a reserved word, is escaped.

/** The name under which a rule finds a field; undefined if there is no way to write it. */
export function celName(field: string): string | undefined {
  if (RESERVED.has(field)) return `__${field}__`;
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(field)) return undefined;
  return field.replaceAll(/__|[-./]/g, (part) => `__${ESCAPES[part] ?? ''}__`);
}

const ESCAPES: Readonly<Record<string, string>> = { __: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash' };

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);
