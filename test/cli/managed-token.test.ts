import { describe, expect, it } from '@jest/globals';
import { managedTokenName } from '../../src/cli/managed-token.ts';

describe('managedTokenName', () => {
  it.each(['mt/ci', 'managedtoken/ci', 'managedtokens/ci', 'ManagedToken/ci', 'managedtoken.tokens.purser.dev/ci', 'ci'])(
    'returns the name in %s',
    (text) => {
      expect(managedTokenName(text)).toBe('ci');
    },
  );

  it.each(['secret/ci', 'mt/', 'mt/a/b', '/ci', ''])('rejects %j', (text) => {
    expect(() => managedTokenName(text)).toThrow('write mt/NAME');
  });
});
