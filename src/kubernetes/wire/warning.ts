// Warning headers of a response: code 299, no agent, no date.

const TOTAL_RUNES = 4096;
const TRUNCATED_RUNES = 256;

/**
 * Returns the header values for these warnings, without duplicates and without those that a header cannot contain. If all warnings together
 * exceed 4,096 characters, each is truncated to 256 characters, and no warning is added once the total reaches 4,096. Values have one
 * character per byte, as Node encodes headers.
 */
export function toWarningHeaders(texts: readonly string[]): string[] {
  let recorded: string[] = [];
  let written = 0;
  let truncating = false;
  for (const text of new Set(texts)) {
    if (truncating && written >= TOTAL_RUNES) break;
    const warning = truncating ? truncate(text) : text;
    if (!isWritable(warning)) continue;
    recorded.push(warning);
    written += countRunes(warning);
    if (truncating || written <= TOTAL_RUNES) continue;
    truncating = true;
    recorded = recorded.map(truncate);
    written = recorded.reduce((sum, each) => sum + countRunes(each), 0);
  }
  return recorded.map(toHeaderValue);
}

function truncate(text: string): string {
  return Array.from(text).slice(0, TRUNCATED_RUNES).join('');
}

function countRunes(text: string): number {
  return Array.from(text).length;
}

/** Returns whether a header can contain the warning; Go omits others. */
function isWritable(text: string): boolean {
  return text !== '' && !/\p{Cc}/u.test(text) && text.isWellFormed();
}

function toHeaderValue(text: string): string {
  return Buffer.from(`299 - "${text.replace(/["\\]/g, '\\$&')}"`).toString('latin1');
}
