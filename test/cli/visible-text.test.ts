import { describe, expect, it } from '@jest/globals';
import type { CommandHost } from '../../src/cli/command.ts';
import { removeInvisible, toVisibleLine, withVisibleOutput } from '../../src/cli/visible-text.ts';

const TITLE = '\u001b]0;owned\u0007';

describe('toVisibleLine', () => {
  it('returns one line without fillers and variation selectors', () => {
    expect(toVisibleLine('a\u3164b\ufe0f')).toBe('a b');
  });

  it('returns one line without control characters', () => {
    expect(toVisibleLine(`a${TITLE}\n\tb\u009b31m\u202ec\u2028d`)).toBe('a ]0;owned b 31m c d');
  });
});

describe('removeInvisible', () => {
  it('keeps line breaks, tabs and colors, and replaces all other control characters', () => {
    expect(removeInvisible(`a\tb\r\n\u001b[31mred\u001b[0m${TITLE}\rc\u001b[8m\u009b2J`)).toBe(
      'a\tb\r\n\u001b[31mred\u001b[0m ]0;owned  c [8m 2J',
    );
  });
});

describe('withVisibleOutput', () => {
  it('prints no control characters to standard output, to standard error and in questions', async () => {
    const texts: string[] = [];
    const add = (text: string) => void texts.push(text);
    const given = { print: add, warn: add, ask: async (question: string) => question };
    const host = withVisibleOutput(given as unknown as CommandHost);
    host.print(TITLE);
    host.warn(TITLE);
    expect([...texts, await host.ask?.(TITLE)]).toEqual([' ]0;owned ', ' ]0;owned ', ' ]0;owned ']);
  });
});
