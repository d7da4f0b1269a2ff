import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { quoteShell } from '../../src/cli/quote-shell.ts';

describe('quoteShell', () => {
  it.each(['prod-us', '/home/ci/.kube/config', 'a b', "it's", '$HOME', '`id`', '~', '', 'a\nb', '*', '=ls', 'a=b'])(
    'quotes %j for a shell',
    (word) => {
      expect(execFileSync('sh', ['-c', `printf %s ${quoteShell(word)}`], { encoding: 'utf8' })).toBe(word);
    },
  );

  it('leaves words without special characters unchanged', () => {
    expect(quoteShell('/home/ci/.kube/config')).toBe('/home/ci/.kube/config');
  });
});
