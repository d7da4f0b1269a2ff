// Command lines of purser in the documentation, checked against the commands that exist.

import type { Command } from 'commander';
import { definePurserCommand } from '../../src/cli/purser.ts';
import { FakeClock } from '../support/clock.ts';

const host = { clock: new FakeClock(), env: {}, print: () => {}, warn: () => {}, signal: new AbortController().signal };
const purser = definePurserCommand(host, { run: async () => {}, dev: async () => {} });

/** Returns the first unknown command or option of a command line, such as `option --x`; undefined if there is none. */
export function commandProblem(line: string): string | undefined {
  let command: Command = purser;
  // Ignores the program after a pipe, and the file after a redirection.
  const [first = ''] = line.split(/ [|>] /);
  for (const word of first.split(/\s+/).slice(1)) {
    const [flag = ''] = word.split('=');
    const next = command.commands.find((each) => each.name() === word);
    if (flag.startsWith('-') && !optionsOf(command).includes(flag)) return `option ${flag}`;
    if (next === undefined && command.commands.length > 0 && /^[a-z]/.test(word)) return `command ${word}`;
    command = next ?? command;
  }
  return undefined;
}

/** Returns the options of all commands. */
export function cliOptions(): ReadonlySet<string> {
  return new Set(descendants(purser).flatMap(optionsOf));
}

function descendants(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(descendants)];
}

function optionsOf(command: Command): readonly string[] {
  return [...command.options.flatMap(({ long, short }) => [long ?? '', short ?? '']), '--help', '-h'].filter(Boolean);
}
