import { format, inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { redactTokens, Sensitive } from '../../src/std/sensitive.ts';

describe('Sensitive', () => {
  const token = new Sensitive('s3cret');

  it('reveals the value', () => {
    expect(token.reveal()).toBe('s3cret');
  });

  it.each([
    ['String()', String(token)],
    ['a template', String.raw({ raw: ['', ''] }, token)],
    ['concatenation', '' + token],
    ['a list', [token].join(',')],
    ['JSON', JSON.parse(JSON.stringify(token))],
    ['util.inspect', inspect(token)],
    ['util.format', format('%s', token)],
  ])('prints as [redacted] in %s', (_name, text) => {
    expect(text).toBe('[redacted]');
  });

  it.each([
    ['JSON', JSON.stringify({ data: [token] })],
    ['util.inspect', inspect({ data: [token] }, { depth: 9, showHidden: true })],
    ['a copy', inspect(Object.assign({}, token))],
    ['a clone', inspect(structuredClone(token))],
    ['an error', inspect(new Error('refused', { cause: token }))],
  ])('stays hidden inside %s', (_name, text) => {
    expect(text).not.toContain('s3cret');
  });
});

describe('redactTokens', () => {
  const jwt = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJkZXBsb3llciJ9.c2lnbmF0dXJl';

  it.each([
    ['a token', jwt, '[redacted]'],
    ['tokens among words', `token ${jwt}, or "${jwt}"`, 'token [redacted], or "[redacted]"'],
    ['a token without its signature', 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0', '[redacted]'],
    ['nothing else', 'secrets "eyJ.a" not found at 10.0.0.1', 'secrets "eyJ.a" not found at 10.0.0.1'],
  ])('redacts %s', (_name, text, clean) => {
    expect(redactTokens(text)).toBe(clean);
  });
});
