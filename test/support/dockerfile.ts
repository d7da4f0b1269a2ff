// Parses a Dockerfile, and executes its stages on this machine, each in its own folder. Replaces an image builder in tests. Commands
// must use paths relative to their WORKDIR.

import { cp, mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { run } from './run.ts';

export interface Step {
  /** Keyword, such as `COPY`. */
  readonly instruction: string;
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  /** Base image, or name of another stage. */
  readonly from: string;
  readonly steps: readonly Step[];
}

export interface Dockerfile {
  /** Arguments before the first stage, with their defaults. */
  readonly args: ReadonlyMap<string, string>;
  readonly stages: readonly Stage[];
}

/** Parses the text of a Dockerfile. */
export function parseDockerfile(text: string): Dockerfile {
  const args = new Map<string, string>();
  const stages: { name: string; from: string; steps: Step[] }[] = [];
  for (const step of parseSteps(text)) {
    const stage = stages.at(-1);
    if (step.instruction === 'FROM') stages.push(parseStage(step.text, stages.length));
    else if (stage !== undefined) stage.steps.push(step);
    else args.set(...(step.text.split('=') as [string, string]));
  }
  return { args, stages };
}

/** Executes all stages below `folder`, and returns the root of the last one. */
export async function buildStages({ stages }: Dockerfile, context: string, folder: string): Promise<string> {
  const rootOf = (name: string) => join(folder, name);
  for (const { name, steps } of stages) {
    let workdir = '/';
    for (const { instruction, text } of steps) {
      if (instruction === 'WORKDIR') workdir = text;
      const cwd = join(rootOf(name), workdir);
      await mkdir(cwd, { recursive: true });
      if (instruction === 'COPY') await copyFiles(text, { cwd, root: rootOf(name), rootOf, context });
      if (instruction === 'RUN') await runCommand(text, cwd);
    }
  }
  return rootOf(stages.at(-1)?.name ?? '');
}

/** Returns the words of an instruction in JSON form, such as `ENTRYPOINT ["node"]`. */
export function wordsOf({ steps }: Stage, instruction: string): readonly string[] {
  return JSON.parse(steps.find((step) => step.instruction === instruction)?.text ?? '[]') as readonly string[];
}

/** Returns the environment variables of a stage; each instruction sets one. */
export function environmentOf({ steps }: Stage): Readonly<Record<string, string>> {
  const texts = steps.filter(({ instruction }) => instruction === 'ENV').map(({ text }) => text);
  return Object.fromEntries(texts.map((text) => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)]));
}

function parseSteps(text: string): readonly Step[] {
  const lines = text
    .replace(/^#.*\n/gm, '')
    .replaceAll('\\\n', '')
    .split('\n');
  return lines.filter((line) => line !== '').map((line) => ({ instruction: line.replace(/ .*/, ''), text: line.replace(/^\S+ +/, '') }));
}

function parseStage(text: string, index: number) {
  const [from = '', , name = `stage-${index}`] = text.split(' ').filter((word) => !word.startsWith('--'));
  return { name, from, steps: [] };
}

interface CopyContext {
  readonly cwd: string;
  readonly root: string;
  readonly rootOf: (stage: string) => string;
  readonly context: string;
}

/** Copies files and folders. A destination that ends with `./` keeps the names of the sources; any other is the path of the copy. */
async function copyFiles(text: string, { cwd, root, rootOf, context }: CopyContext): Promise<void> {
  const words = text.split(' ');
  const stage = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined;
  const to = words.pop() ?? '';
  const target = to.startsWith('/') ? join(root, to) : join(cwd, to);
  for (const word of words) {
    const path = to.endsWith('./') ? join(target, basename(word)) : target;
    await mkdir(dirname(path), { recursive: true });
    await cp(join(stage === undefined ? context : rootOf(stage), word), path, { recursive: true, verbatimSymlinks: true });
  }
}

async function runCommand(text: string, cwd: string): Promise<void> {
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`;
  const { code, output, stderr } = await run('sh', ['-c', `cd '${cwd}' && ${text}`], { PATH: path, NODE_OPTIONS: '' });
  if (code !== 0) throw new Error(`RUN ${text}\nexited with code ${code}:\n${output}${stderr}`);
}
