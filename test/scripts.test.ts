// Scripts of package.json in the examples of docs/contributing.md.

import { expect, it } from '@jest/globals';
import { readText } from './support/repository.ts';
import { run } from './support/run.ts';

const commands = readText('docs/contributing.md').match(/^npm (test|run test:kube) -- test\/\S+$/gm) ?? [];

it('finds one example for each kind of test in docs/contributing.md', () => expect(commands).toHaveLength(2));

it.each(commands)(
  'runs only the named file with %s',
  async (command) => {
    const listing = `${command.replace(' -- ', ' --silent --ignore-scripts -- ')} --listTests`;
    const { output } = await run('/bin/sh', ['-c', listing], { NODE_OPTIONS: '' });
    const files = output.split('\n').filter((line) => line.endsWith('.ts'));

    expect(files).toEqual([expect.stringContaining(command.split(' ').at(-1) ?? '')]);
  },
  60_000,
);
