// Quotes in YAML that Purser prints or writes. The readers, such as kubectl, read YAML 1.1, and numbers as Go does.

import { type Document, type Node, visit } from 'yaml';

/** Quotes strings that readers could take for another type, and those with characters that YAML can only escape in quotes. */
export function quoteStrings(node: Document | Node): void {
  visit(node, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string' && (AMBIGUOUS.test(scalar.value) || CONTROL_CHARACTER.test(scalar.value)))
        scalar.type = 'QUOTE_DOUBLE';
    },
  });
}

/** Matches control, format, private-use and unassigned characters, surrogates and line separators, but not newlines. */
export const CONTROL_CHARACTER = /(?!\n)[\p{C}\u2028\u2029]/u;

const AMBIGUOUS = new RegExp(
  [
    '([yn]|yes|no|on|off|true|false|null|~|=|<<|)',
    // Numbers with underscores: integers with any prefix, floating-point and sexagesimal numbers.
    String.raw`[-+]?0[box][\da-f_]+`,
    String.raw`[-+]?[\d_]*\.?[\d_]*(e[-+_]*[\d_]+)?`,
    String.raw`[-+]?\d[\d_]*(:\d+)+(\.\d*)?`,
    String.raw`[-+]?\.(inf|nan)`,
    String.raw`\d{4}-\d\d?-\d\d?([t\s].*)?`,
  ]
    .map((each) => `^(${each})$`)
    .join('|'),
  'i',
);
