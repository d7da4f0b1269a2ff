// Removes control characters: parts of the output come from servers and tenants, who could otherwise control the terminal.

import { INVISIBLE } from '../ui/model/visible-text.ts';
import type { CommandHost } from './command.ts';

/** Returns one line without invisible characters. */
export function toVisibleLine(text: string): string {
  return text.replace(GAPS, ' ').trim();
}

/** Replaces invisible characters with spaces, except for line breaks, tabs and the colors of `purser status`. */
export function removeInvisible(text: string): string {
  return text.replace(UNPRINTED_CHARACTER, ' ');
}

/** Returns a host that prints no invisible characters. */
export function withVisibleOutput(host: CommandHost): CommandHost {
  const { ask } = host;
  return {
    ...host,
    print: (text) => host.print(removeInvisible(text)),
    warn: (text) => host.warn(removeInvisible(text)),
    ask: ask && ((question) => ask(removeInvisible(question))),
  };
}

/** Matches a sequence of invisible characters and whitespace. */
const GAPS = new RegExp(`[${INVISIBLE}\\s]+`, 'gu');
/** Matches an invisible character, except for line breaks, tabs and the colors of `purser status`. */
const UNPRINTED_CHARACTER = new RegExp(String.raw`(?!\r?\n|\t|\u001b\[(?:0|1|3[1-3])m)[${INVISIBLE}]`, 'gu');
