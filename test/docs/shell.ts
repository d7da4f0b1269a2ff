// Runs the commands of a document one after the other in one shell, and tells what each printed.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../support/run.ts';
import type { Step } from './documents.ts';

/** What became of a step. */
export interface Ran {
  readonly command: string;
  readonly shown: string | undefined;
  readonly printed: string;
  readonly code: number;
}

export interface Shell {
  /** Where the commands run; what they write stays there. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs all steps, also after one that failed: a document may show failures. */
export async function runSteps(steps: readonly Step[], { folder, env }: Shell): Promise<readonly Ran[]> {
  const file = join(folder, 'steps.sh');
  const marked = steps.map(({ command }) => `${command}\nprintf '\\036%s\\035' "$?"`);
  await writeFile(file, `cd ${JSON.stringify(folder)}\nexec 2>&1\n${marked.join('\n')}\n`);
  const { output } = await run('bash', [file], env);
  const results = output.split('\u001d');
  return steps.map(({ command, shown }, index) => {
    const [printed = '', code = ''] = (results[index] ?? '').split('\u001e');
    return { command, shown, printed, code: code === '' ? Number.NaN : Number(code) };
  });
}

/** Texts that differ from run to run, each with what is compared instead. */
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  [/eyJ[\w-]+(\.[\w-]+\.[\w-]+|…)/g, 'TOKEN'],
  [/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'UID'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, 'TIME'],
  [/("resourceVersion":")\d+/g, '$1VERSION'],
  [/127\.0\.0\.1:\d+/g, 'ADDRESS'],
  [/\b(\d+m)?\d+s\b/g, 'AGE'],
  [/ +$/gm, ''],
  [/ +/g, ' '],
];

/** A text without what differs from run to run. */
export function comparable(text: string): string {
  return VOLATILE.reduce((rest, [pattern, instead]) => rest.replaceAll(pattern, instead), text).trim();
}
