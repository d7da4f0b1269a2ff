// Sentences for users.

/** Capitalizes the first letter, and adds a full stop unless the text ends with one of `.…!?)`. */
export function toSentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.…!?)]$/.test(text) ? '' : '.'}`;
}
