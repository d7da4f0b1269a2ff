import { X509Certificate } from 'node:crypto';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { createAuthority, issueClientCertificate } from '../../src/std/x509/certificates.ts';
import { parseBundle, readClusterNames, readCredential, readPins, readTokenInUse } from '../../src/targets/credential.ts';
import { aCredential, base64 } from './registration.ts';

const authority = createAuthority(Date.now());
const client = issueClientCertificate(authority, { name: 'purser', groups: [] }, Date.now());
const other = issueClientCertificate(authority, { name: 'other', groups: [] }, Date.now());

describe('readCredential', () => {
  it('returns the token of the Secret without a trailing line break', () => {
    const credential = readCredential(aCredential({ token: 'abc.def-ghi\r\n' }));
    expect(credential.type === 'token' && credential.token.reveal()).toBe('abc.def-ghi');
  });

  it('returns a client certificate with its key if there is no token', () => {
    const credential = readCredential(aCredential({ 'tls.crt': client.certificate, 'tls.key': client.key }));
    expect(credential).toMatchObject({ type: 'certificate', certificate: client.certificate.trim(), commonName: 'purser' });
  });

  it('returns a service account on the hub with one audience per address, as the Secret spells the address', () => {
    const server = 'https://A.example.com:443/api/\nb.example.com:6443,https://a.example.com/api';
    expect(readCredential(aCredential({ serviceAccount: 'federated\n', server }))).toEqual({
      type: 'serviceAccount',
      name: 'federated',
      audiences: new Map([
        ['https://a.example.com/api', 'purser:https://A.example.com:443/api/'],
        ['https://b.example.com:6443', 'purser:b.example.com:6443'],
      ]),
    });
  });

  it.each([
    ['a service account and a token', { serviceAccount: 'federated', token: 'abc' }, 'both serviceAccount and token. Remove one'],
    ['a service account and an empty token', { serviceAccount: 'federated', token: '' }, 'both serviceAccount and token. Remove one'],
    ['a service account and a key', { serviceAccount: 'federated', 'tls.key': client.key }, 'both serviceAccount and tls.key'],
    ['an empty service account', { serviceAccount: '' }, 'is not a valid name'],
    ['a service account with a namespace', { serviceAccount: 'kube-system/admin' }, 'is not a valid name'],
    ['two service accounts', { serviceAccount: 'a b' }, 'is not a valid name'],
    ["Purser's own service account", { serviceAccount: 'purser' }, "Purser's own service account, purser. Use another one"],
    ['the service account of the façade', { serviceAccount: 'purser-facade' }, "Purser's own service account"],
  ])('rejects %s with a remedy', (_, keys, text) => {
    const failure = { reason: 'CredentialMissing', detail: expect.stringContaining(text) };
    expect(() => readCredential(aCredential(keys))).toThrow(expect.objectContaining(failure));
  });

  it('hides the credential from inspection and JSON', () => {
    const shown = [
      readCredential(aCredential({ token: 'abc.def-ghi' })),
      readCredential(aCredential({ 'tls.crt': client.certificate, 'tls.key': client.key })),
    ].map((credential) => inspect(credential, { depth: 9 }) + JSON.stringify(credential));
    expect(shown.join()).not.toMatch(/abc\.def|PRIVATE/);
  });

  it.each([
    ['an empty Secret', {}],
    ['an empty token', { token: '\n' }],
    ['a kubeconfig', { kubeconfig: 'users: [{user: {exec: {command: /bin/sh}}}]', value: 'x' }],
    ['the path of a token', { tokenFile: '/var/run/token', 'token-file': '/var/run/token' }],
    ['a YAML alias bomb in place of a token', { token: '&a [*a,*a]' }],
    ['a token of more than 64 KiB', { token: 'a'.repeat(65_537) }],
    ['a token of more than 1 MiB', { token: 'a'.repeat(1 << 21) }],
    ['a binary token', { token: '\u0000\u0001\u0002' }],
    ['a token with a line break inside', { token: 'abc\r\nX-Evil: 1' }],
    ['a token with a space', { token: 'abc def' }],
    ['a token with non-ASCII characters', { token: 'töken' }],
    ['a certificate without its key', { 'tls.crt': client.certificate }],
    ['a key of another certificate', { 'tls.crt': client.certificate, 'tls.key': other.key }],
    ['an invalid certificate', { 'tls.crt': 'junk', 'tls.key': client.key }],
    ['an invalid key', { 'tls.crt': client.certificate, 'tls.key': 'junk' }],
  ])('rejects %s', (_, keys) => {
    expect(() => readCredential(aCredential(keys))).toThrow(expect.objectContaining({ name: 'IssueError', reason: 'CredentialMissing' }));
  });

  it('ignores keys from the prototype of an object, and rejects data that is not base64', () => {
    const { metadata } = aCredential({});
    expect(() => readCredential({ metadata, data: Object.create({ token: base64('abc') }) })).toThrow('contains no complete credential');
    expect(() => readCredential({ metadata, data: { token: '%%%' } })).toThrow('not base64');
  });
});

describe('readClusterNames', () => {
  it('reads names that are separated by whitespace or commas', () => {
    expect(readClusterNames(aCredential({ cluster: 'prod-eu\nprod-us, dev\n' }))).toEqual(['prod-eu', 'prod-us', 'dev']);
  });

  it.each([
    ['no', {}],
    ['a blank', { cluster: 'Cg==' }],
    ['an unreadable', { cluster: '%' }],
  ])('returns no name for a Secret with %s cluster key', (_, data) => {
    expect(readClusterNames({ ...aCredential({}), data })).toEqual([]);
  });
});

describe('readTokenInUse', () => {
  it('returns no token to renew for a service account on the hub, not even if there is a renewed token', () => {
    const registered = aCredential({ serviceAccount: 'federated' });
    expect(readTokenInUse(registered, undefined)).toBeUndefined();
    expect(readTokenInUse(registered, aCredential({ token: 'abc' }))).toBeUndefined();
  });
});

describe('readPins', () => {
  it('reads addresses in any spelling, separated by whitespace or commas', () => {
    const { servers } = readPins(aCredential({ server: 'a.example.com:443\nhttps://B.example.com/,10.0.0.1:6443 http://c' }));
    expect(servers).toEqual(['https://a.example.com', 'https://b.example.com', 'https://10.0.0.1:6443']);
  });

  it('reads the names of namespaces', () => {
    const { namespaces } = readPins(aCredential({ namespaces: 'deploy\nprod, dev\n' }));
    expect(namespaces).toEqual(['deploy', 'prod', 'dev']);
  });

  it('reads certificate authorities in any PEM spelling', () => {
    const pem = `# Acme Root\n${authority.certificate.replaceAll('\n', '\r\n')}`;
    expect(readPins(aCredential({ 'ca.crt': pem })).authorities).toEqual(
      new Set([new X509Certificate(authority.certificate).fingerprint256]),
    );
    expect(readPins(aCredential({ 'ca.crt': 'system\n' })).authorities).toBe('system');
  });

  it('allows nothing for an absent or blank key, and all namespaces only if the key namespaces is absent', () => {
    const { metadata } = aCredential({});
    const none = { servers: [], authorities: new Set() };
    expect(readPins({ metadata, data: {} })).toEqual({ ...none, namespaces: undefined });
    const blank = { server: ' ', 'ca.crt': '', namespaces: ' , ' };
    expect(readPins(aCredential(blank))).toEqual({ ...none, namespaces: [] });
  });

  it.each(['junk', `${authority.certificate}${authority.key}`, 'system system'])(
    'rejects a ca.crt that is neither PEM certificates nor the word system: %#',
    (text) => {
      expect(() => readPins(aCredential({ 'ca.crt': text }))).toThrow(expect.objectContaining({ reason: 'CredentialMissing' }));
    },
  );
});

describe('readPins and the proxy key', () => {
  it.each([
    ['https://proxy.example.com:3128', 'https://proxy.example.com:3128/'],
    ['http://proxy.example.com:3128/\n', 'http://proxy.example.com:3128/'],
    ['https://purser:p%40ss@proxy.example.com', 'https://purser:p%40ss@proxy.example.com/'],
    ['https://[2001:db8::1]:3128', 'https://[2001:db8::1]:3128/'],
  ])('reads the proxy %j, and hides it from inspection and JSON', (proxy, url) => {
    const pins = readPins(aCredential({ proxy }));
    expect(pins.proxy?.reveal()).toBe(url);
    expect(inspect(pins, { depth: 9 }) + JSON.stringify(pins)).not.toContain('example.com');
  });

  it.each([
    '',
    ' ',
    'junk-of-proxy',
    'junk-of-proxy:3128',
    'socks5://junk-of-proxy:1080',
    'file:///junk-of-proxy',
    'https://',
    'https://a.test https://junk-of-proxy',
    'https://junk-of-proxy:99999',
    'https://junk-of-proxy/path',
    'https://junk-of-proxy?query',
    'https://a:junk-of-proxy@b@c',
    'https://a:%zz-junk-of-proxy@b.test',
    'https://junk-of-proxy\\@b.test',
  ])('rejects the proxy %j without repeating it in the message', (proxy) => {
    const message = expect.not.stringContaining('junk-of-proxy');
    const failure = {
      reason: 'CredentialMissing',
      detail: expect.stringMatching(/^the proxy key of the Secret is not the URL of a proxy/),
    };
    expect(() => readPins(aCredential({ proxy }))).toThrow(expect.objectContaining({ ...failure, message }));
  });

  it.each(['http://user:junk-of-proxy@proxy.example.com', 'http://junk-of-proxy@proxy.example.com'])(
    'rejects user and password in an http URL: %s',
    (proxy) => {
      const detail = 'the proxy key of the Secret contains a user or password, so the URL must start with https';
      expect(() => readPins(aCredential({ proxy }))).toThrow(expect.objectContaining({ reason: 'CredentialMissing', detail }));
    },
  );
});

describe('parseBundle', () => {
  it('parses one or several base64-encoded PEM certificates, with or without line breaks', () => {
    const pem = `# Acme Root\n${authority.certificate}\n${createAuthority(Date.now()).certificate}`;
    expect(parseBundle(base64(pem))).toHaveLength(2);
    expect(parseBundle(base64(authority.certificate).replace(/(.{60})/g, '$1\n'))).toHaveLength(1);
  });

  it.each([
    ['junk', 'junk'],
    ['base64 of invalid PEM', base64('junk')],
    ['PEM that is not in base64', authority.certificate],
    ['an invalid certificate', base64('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')],
    ['a private key', base64(authority.key)],
    ['a private key in addition to a certificate', base64(authority.certificate + authority.key)],
    ['10,000 certificates', base64(authority.certificate.repeat(10_000))],
    ['a text of a megabyte', base64(`# ${'x'.repeat(1 << 20)}\n${authority.certificate}`)],
  ])('rejects %s within half a second of CPU time', (_, bundle) => {
    const before = process.cpuUsage();
    expect(parseBundle(bundle)).toBeUndefined();
    expect(process.cpuUsage(before).user).toBeLessThan(500_000);
  });
});
