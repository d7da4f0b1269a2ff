// Texts for terminals. Servers and tenants choose parts of them, with which they could control the terminal.

import type { CommandHost } from './command.ts';

/** Returns one line without control characters. */
export function visibleText(text: string): string {
  return text.replace(/[\p{C}\s]+/gu, ' ').trim();
}

/** Returns the text without control characters, except for line breaks, tabs and the colors of `purser status`. */
export function visibleLines(text: string): string {
  return text.replace(INVISIBLE, ' ');
}

/** Returns a host that prints no control characters. */
export function withVisibleOutput(host: CommandHost): CommandHost {
  const { ask } = host;
  return {
    ...host,
    print: (text) => host.print(visibleLines(text)),
    warn: (text) => host.warn(visibleLines(text)),
    ask: ask && ((question) => ask(visibleLines(question))),
  };
}

/** A control, format, private, unassigned or surrogate character, or a separator of lines and paragraphs. */
// oxlint-disable-next-line no-control-regex
const INVISIBLE = /(?!\r?\n|\t|\u001b\[(?:0|1|3[1-3])m)[\p{C}\u2028\u2029]/gu;
