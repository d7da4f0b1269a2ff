// Completion in real zsh and fish shells, as their users install it. test/cli/complete.test.ts completes in bash.

import { spawnSync } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { run } from '../support/run.ts';
import { runPurser } from '../support/run-purser.ts';

let folder: string;
let env: Readonly<Record<string, string>>;

beforeAll(async () => {
  for (const shell of ['zsh', 'fish']) {
    if (spawnSync(shell, ['--version']).status !== 0) throw new Error(`${shell} is not installed. Install the package \`${shell}\`.`);
  }
  folder = await newFolder();
  env = { PATH: `${folder}:${process.env['PATH']}`, KUBECONFIG: join(folder, 'config'), HOME: folder, NODE_OPTIONS: '', TERM: 'dumb' };
  const context = { cluster: 'a', user: 'a' };
  const contexts = ['kind:one', 'prod/eu'].map((name) => ({ name, context }));
  const clusters = [{ name: 'a', cluster: { server: 'https://127.0.0.1:1' } }];
  await writeFile(join(folder, 'config'), JSON.stringify({ clusters, contexts, users: [] }));
  await mkdir(join(folder, 'files'));
  await writeFile(join(folder, 'files', 'kept.yaml'), '');
  const program = join(folder, 'purser');
  await writeFile(program, `#!/bin/sh\nexec ${process.execPath} ${join(import.meta.dirname, '../../bin/purser.cjs')} "$@"\n`);
  await chmod(program, 0o755);
  for (const [shell, file] of [
    ['zsh', '_purser'],
    ['fish', 'purser.fish'],
  ] as const) {
    await writeFile(join(folder, file), (await runPurser(['completion', shell])).output);
  }
});

/** Presses Tab after a line in an interactive zsh; returns the line afterwards, and all that zsh displayed. */
async function completeInZsh(line: string): Promise<{ readonly line: string; readonly displayed: string }> {
  const script = `
    zmodload zsh/zpty
    zpty shell 'zsh -f -i'
    zpty -w shell "PS1= PROMPT_EOL_MARK= LISTMAX=0; stty cols 200 -echo; cd $1/files; fpath=($1 $fpath)"
    zpty -w shell 'autoload -Uz compinit; compinit -u -D; show() { print -r "<<$BUFFER>>" }; zle -N show; bindkey "^X" show; print re""ady'
    zpty -r shell output '*ready*'
    zpty -w -n shell "$2"$'\\t\\x18'
    zpty -r shell output '*<<*>>*'
    print -r -- "$output"
    zpty -d shell`;
  const { code, output } = await run('zsh', ['-f', '-c', script, 'zsh', folder, line], env);
  expect(code).toBe(0);
  const shown = /<<(?<line>.*)>>/.exec(output)?.groups?.['line'] ?? '';
  return { line: shown, displayed: output };
}

describe('purser completion zsh', () => {
  it.each([
    ['purser clu', 'purser cluster '],
    ['purser cluster list --cont', 'purser cluster list --context '],
    ['purser cluster list --context ki', 'purser cluster list --context kind:one '],
    ['purser cluster list --context kind:', 'purser cluster list --context kind:one '],
    ['purser cluster list --context=pr', 'purser cluster list --context=prod/eu '],
    ['purser cluster list --kubeconfig k', 'purser cluster list --kubeconfig kept.yaml '],
    ['purser cluster list --kubeconfig=k', 'purser cluster list --kubeconfig=kept.yaml '],
  ])('completes "%s" to "%s"', async (typed, completed) => {
    expect(await completeInZsh(typed)).toMatchObject({ line: completed });
  });

  it('lists several candidates with their descriptions', async () => {
    const { displayed } = await completeInZsh('purser cluster re');
    expect(displayed).toMatch(/remove\s+-- remove a registered cluster/);
    expect(displayed).toMatch(/renew\s+-- renew Purser's credential/);
  });
});

/** Returns the candidates for a line in fish. */
async function completeInFish(line: string): Promise<readonly string[]> {
  const script = 'source $argv[1]/purser.fish; cd $argv[1]/files; complete -C $argv[2]';
  const { code, output } = await run('fish', ['--no-config', '-c', script, folder, line], env);
  expect(code).toBe(0);
  return output.trimEnd().split('\n');
}

describe('purser completion fish', () => {
  it.each([
    ['purser clu', ['cluster\tmanage registered clusters']],
    ['purser cluster list --cont', ['--context\tcontext of the hub']],
    ['purser cluster list --context ', ['kind:one\ta', 'prod/eu\ta']],
    ['purser cluster list --context kind:', ['kind:one\ta']],
    ['purser cluster list --context=pr', ['--context=prod/eu\ta']],
    ['purser cluster list --kubeconfig k', ['kept.yaml']],
    ['purser cluster list --kubeconfig=k', ['--kubeconfig=kept.yaml']],
  ])('completes "%s"', async (line, candidates) => {
    expect(await completeInFish(line)).toEqual(candidates);
  });
});
