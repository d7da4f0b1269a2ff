// Sentences for users.

/** Capitalizes the text and ends it with a full stop, unless it ends with other punctuation. */
export function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.…!?)]$/.test(text) ? '' : '.'}`;
}
