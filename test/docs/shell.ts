// Runs the commands of a document in order in one shell, and returns the output of each.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../support/run.ts';
import type { Step } from './documents.ts';

/** Result of a step. */
export interface Ran {
  readonly command: string;
  readonly shown: string | undefined;
  readonly printed: string;
  readonly code: number;
}

export interface Shell {
  /** Working directory of the commands. */
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Runs all steps, even after a failed one, because a document may show failures. */
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

/** Patterns of strings that differ between runs, with their replacements. */
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

/** Replaces all parts of a string that differ between runs, for comparison. */
export function toComparableText(text: string): string {
  return VOLATILE.reduce((rest, [pattern, instead]) => rest.replaceAll(pattern, instead), text).trim();
}
