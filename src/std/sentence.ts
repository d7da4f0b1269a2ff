// Texts that say something, as sentences for people.

/** The text with a capital at its beginning, and an end. */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.…!?)]$/.test(text) ? '' : '.'}`;
}
