// Escapes invisible characters in strings from servers and tenants: such characters could reorder a string, or hide a part of it.

/**
 * Invisible characters, as part of a character class in regular expressions with the flag `u`: control, format, private, unassigned and
 * surrogate characters, additional characters that are not drawn, separators of lines and paragraphs, and the blank Braille pattern.
 */
export const INVISIBLE = String.raw`\p{C}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800`;

const ESCAPED_CHARACTER = new RegExp(`(?![\\t\\r\\n])[${INVISIBLE}]`, 'gu');

/**
 * Returns a string with escapes such as `\u{202e}` in place of invisible characters. Keeps line breaks and tabs, which browsers show as
 * spaces.
 */
export function escapeInvisible(text: string): string {
  return text.replace(ESCAPED_CHARACTER, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}
