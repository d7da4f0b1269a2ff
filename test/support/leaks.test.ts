import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '../../src/telemetry/logger.ts';
import { addStaticTokens, leaksIn } from './leaks.ts';

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const payload = encode({ sub: 'system:serviceaccount:deploy:deployer', aud: ['https://kubernetes.default.svc'], exp: 1_772_370_000 });
const header = encode({ alg: 'ES256', kid: 'k1' });
const signature = sign('sha256', Buffer.from(`${header}.${payload}`), { key: privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');

describe('leaksIn', () => {
  it.each([
    ['a token', `${header}.${payload}.${signature}`],
    ['the header of a token', header],
    ['the claims of a token', payload],
    ['the signature of a token', signature],
  ])('finds %s in a log line', (_name, part) => {
    expect(leaksIn(`{"level":"info","detail":"Bearer ${part}"}`)).not.toEqual([]);
  });

  it('finds known static tokens', () => {
    const [opaque, another] = [randomBytes(32), randomBytes(32)].map((bytes) => bytes.toString('base64url')) as [string, string];
    addStaticTokens([opaque]);

    expect(leaksIn(`"authorization":"Bearer ${opaque}" admintoken ${another}`)).toEqual(['admintoken', opaque]);
  });

  it.each([
    ['a UID', '5ec29062-0605-487c-a4fe-db69a6e89019'],
    ['a digest', 'a'.repeat(32) + '0123456789abcdef'.repeat(2)],
    ['a long name', `${'a-'.repeat(120)}b`],
    ['a path', '/apis/registry.purser.dev/v1alpha1/clusters/Some-Cluster-Name-01/token'],
  ])('ignores %s', (_name, text) => {
    expect(leaksIn(text)).toEqual([]);
  });
});

describe('leak watch', () => {
  it('searches every log line for tokens', () => {
    const { loggedLines } = globalThis as unknown as { loggedLines: () => number };
    const before = loggedLines();
    createLogger({ level: 'info', readable: false, write: () => {} }).info('line for the leak watch');

    expect(loggedLines()).toBe(before + 1);
  });
});
