import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { formatContextOption, formatHubContextOption, quoteShell } from '../../src/cli/quote-shell.ts';

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

describe('formatContextOption', () => {
  it.each([
    [{ context: undefined }, ''],
    [{ context: 'eu' }, '--context eu '],
    [{ context: undefined, kubeconfig: 'a b.yaml' }, "--kubeconfig 'a b.yaml' "],
    [{ context: 'eu', kubeconfig: 'hub.yaml' }, '--kubeconfig hub.yaml --context eu '],
  ])('returns the options for %j', (choice, expected) => {
    expect(formatContextOption(choice)).toBe(expected);
  });
});

describe('formatHubContextOption', () => {
  it('quotes the name of the context for a shell, and returns no option for the current context', () => {
    expect(formatHubContextOption({ context: 'a; rm b' })).toBe("--hub-context 'a; rm b' ");
    expect(formatHubContextOption({ context: undefined })).toBe('');
  });
});
