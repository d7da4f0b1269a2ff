// bin/purser.cjs on a Node.js that is too old, simulated by preloaded code that changes the version.

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { run } from '../support/run.ts';

const START = join(import.meta.dirname, '../../bin/purser.cjs');
const OLDER = ['--import', "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})"];

describe('bin/purser.cjs on an older Node.js', () => {
  it('re-executes with the Node.js that npm installed', async () => {
    expect(await run(process.execPath, [...OLDER, START, '--version'])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^purser \d/),
    });
  });

  it('exits with the exit code of the Node.js process that it starts', async () => {
    expect(await run(process.execPath, [...OLDER, START, '--no-such-option'])).toMatchObject({ code: 2 });
  });

  it('exits with 2 and a remedy if npm installed no Node.js', async () => {
    const copy = join(await newFolder(), 'purser.cjs');
    await copyFile(START, copy);
    expect(await run(process.execPath, [...OLDER, copy, '--version'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /^purser: requires Node 24 or later, .*\. Install Node 24 from nodejs\.org or, on Linux, run npm install with --include=optional\n$/,
      ),
    });
  });
});
