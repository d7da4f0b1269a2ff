// The documentation as data: its files, the fenced blocks in them, and the commands in those.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../support/repository.ts';

export interface Document {
  /** The path in the repository. */
  readonly path: string;
  readonly text: string;
}

/** What stands between two fences. After its language, a block can name the place where its commands are run. */
export interface Block {
  readonly path: string;
  /** Of the opening fence. */
  readonly line: number;
  readonly language: string;
  readonly place: string;
  readonly text: string;
}

/** A command, and what it is said to print; undefined where nothing is said. */
export interface Step {
  readonly command: string;
  readonly shown: string | undefined;
}

/** The README and everything in docs. */
export function documents(): readonly Document[] {
  const names = readdirSync(join(import.meta.dirname, '../../docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...names.sort().map((name) => `docs/${name}`)].map((path) => ({ path, text: readText(path) }));
}

/** The fenced blocks of a document. */
export function blocksOf({ path, text }: Document): readonly Block[] {
  return [...text.matchAll(/^```([\w-]*)[ ]?([\w-]*)\n(.*?)^```$/gms)].map((match) => {
    const [, language = '', place = '', content = ''] = match;
    return { path, line: text.slice(0, match.index).split('\n').length, language, place, text: content };
  });
}

/** Everything but fenced blocks. */
export function proseOf({ text }: Document): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}

/** The commands of a step, each on one line; what they read on standard input is left out. */
export function commandLines({ command }: Step): readonly string[] {
  const joined = command
    .replaceAll(/<<'?YAML'?.*?^YAML$/gms, '')
    .replaceAll(/(\\|\|)\n\s*/g, (_, end: string) => (end === '|' ? '| ' : ' '));
  return joined
    .split('\n')
    .map((line) =>
      line
        .replace(/ +# .*/, '')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    )
    .filter((line) => line !== '' && !line.startsWith('#'));
}

/** The commands that are named in running text. */
export function proseCommands(document: Document): readonly string[] {
  const spans = [...proseOf(document).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
  return spans.filter((code) => /^(purser|kubectl|npm|node|docker|helm|kind|curl|rm) /.test(code));
}

/** The commands of a block: a block of `sh` is one command, `console` shows what each prints after its `$ ` line. */
export function stepsOf({ language, text }: Block): readonly Step[] {
  if (language === 'sh') return [{ command: text, shown: undefined }];
  if (language !== 'console') return [];
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((step) => {
      const [command = ''] = /^(?:.*\\\n)*.*\n/.exec(step) ?? [];
      return { command, shown: step.slice(command.length) };
    });
}
