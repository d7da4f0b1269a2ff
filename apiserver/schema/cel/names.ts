// Names of fields in CEL: what is not an identifier, or is a reserved word, is escaped.

/** The names under which a rule finds a field: one or two, or none if there is no way to write it. */
export function celNames(field: string): readonly string[] {
  if (RESERVED.has(field)) return LITERALS.has(field) ? [`__${field}__`] : [`__${field}__`, field];
  if (!/^[a-zA-Z_./-][a-zA-Z0-9_./-]*$/.test(field)) return [];
  return [field.replaceAll(/__|[-./]/g, (part) => `__${ESCAPES[part] ?? ''}__`)];
}

const ESCAPES: Readonly<Record<string, string>> = { __: 'underscores', '.': 'dot', '-': 'dash', '/': 'slash' };

const RESERVED: ReadonlySet<string> = new Set(
  'true false null in as break const continue else for function if import let loop package namespace return var void while'.split(' '),
);

/** These mean something even after a dot; the other reserved words may stand there as they are. */
const LITERALS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'in']);
