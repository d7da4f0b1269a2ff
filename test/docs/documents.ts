// Parses the documentation: files, fenced blocks, and commands in these.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../support/repository.ts';

export interface Document {
  /** Path in the repository. */
  readonly path: string;
  readonly text: string;
}

/** Fenced block. The word after its language selects the test that runs its commands. */
export interface Block {
  readonly path: string;
  /** Line number of the opening fence. */
  readonly line: number;
  readonly language: string;
  readonly place: string;
  readonly text: string;
}

/** Command and its documented output; undefined if no output is documented. */
export interface Step {
  readonly command: string;
  readonly shown: string | undefined;
}

/** Returns the pages at the top of the repository, the README of the chart, and all pages in docs. */
export function documents(): readonly Document[] {
  const names = readdirSync(join(import.meta.dirname, '../../docs')).filter((name) => name.endsWith('.md'));
  const others = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'deploy/chart/README.md'];
  return [...others, ...names.sort().map((name) => `docs/${name}`)].map((path) => ({ path, text: readText(path) }));
}

/** Returns the fenced blocks of a document. */
export function blocksOf({ path, text }: Document): readonly Block[] {
  return [...text.matchAll(/^```([\w-]*)[ ]?([\w-]*)\n(.*?)^```$/gms)].map((match) => {
    const [, language = '', place = '', content = ''] = match;
    return { path, line: text.slice(0, match.index).split('\n').length, language, place, text: content };
  });
}

/** Returns the text without fenced blocks. */
export function proseOf({ text }: Document): string {
  return text.replaceAll(/^```.*?^```$/gms, '');
}

/** Returns the commands of a step, each on one line, without here-documents. */
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

/** Returns the commands in running text. */
export function proseCommands(document: Document): readonly string[] {
  const spans = [...proseOf(document).matchAll(/`([^`]+)`/g)].map(([, code = '']) => code.replaceAll(/\s+/g, ' '));
  return spans.filter((code) => /^(purser|kubectl|npm|node|docker|helm|kind|curl|rm) /.test(code));
}

/** Returns the commands of a block. A block of `sh` is one step; `console` has one step per `$ ` line, followed by its output. */
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

/** Returns the anchors that GitHub derives from headings. */
export function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
