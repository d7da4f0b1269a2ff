// src/start.mjs on a Node that is too old. Preloaded code stands for it: all that is read of it is its version.

import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { run } from '../support/run.ts';

const START = join(import.meta.dirname, '../../src/start.mjs');
const OLDER = ['--import', "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.20.2'})"];

describe('src/start.mjs on an older Node', () => {
  it('re-executes with the Node.js that npm installed', async () => {
    expect(await run(process.execPath, [...OLDER, START, '--version'])).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^purser \d/),
    });
  });

  it('returns the exit code of the program', async () => {
    expect(await run(process.execPath, [...OLDER, START, '--no-such-option'])).toMatchObject({ code: 2 });
  });

  it('exits with 2 and a remedy if npm installed no Node.js', async () => {
    const copy = join(await newFolder(), 'start.mjs');
    await copyFile(START, copy);
    expect(await run(process.execPath, [...OLDER, copy, '--version'])).toMatchObject({
      code: 2,
      complaints: expect.stringMatching(/^purser: requires Node 24, .* run npm ci .* install it from nodejs\.org\n$/),
    });
  });
});
