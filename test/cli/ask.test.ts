import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { askUser } from '../../src/cli/ask.ts';

const terminal = () => ({ stdin: new PassThrough(), stderr: new PassThrough() });

describe('askUser', () => {
  it('prints the question to standard error, and returns the entered line', async () => {
    const { stdin, stderr } = terminal();
    stdin.write('yes\nmore\n');
    expect(await askUser('Remove it? ', { stdin, stderr }, new AbortController().signal)).toBe('yes');
    stderr.end();
    expect(await text(stderr)).toBe('Remove it? ');
  });

  it('returns an empty string at the end of the input', async () => {
    const { stdin, stderr } = terminal();
    stdin.end();
    expect(await askUser('Remove it? ', { stdin, stderr }, new AbortController().signal)).toBe('');
  });

  it('throws if the command is interrupted', async () => {
    const interrupted = new AbortController();
    const asked = askUser('Remove it? ', terminal(), interrupted.signal);
    interrupted.abort();
    await expect(asked).rejects.toThrow('abort');
  });
});
