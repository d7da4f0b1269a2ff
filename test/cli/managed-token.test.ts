import { describe, expect, it } from '@jest/globals';
import { parseManagedTokenName } from '../../src/cli/managed-token.ts';

describe('parseManagedTokenName', () => {
  it.each(['mt/ci', 'managedtoken/ci', 'managedtokens/ci', 'ManagedToken/ci', 'managedtoken.tokens.purser.dev/ci', 'ci'])(
    'returns the name in %s',
    (text) => {
      expect(parseManagedTokenName(text)).toBe('ci');
    },
  );

  it.each(['secret/ci', 'mt/', 'mt/a/b', '/ci', ''])('rejects %j', (text) => {
    expect(() => parseManagedTokenName(text)).toThrow('Write mt/NAME');
  });
});
