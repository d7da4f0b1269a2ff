import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createFixedConfig, createInClusterConfig, type KubeConfigSource, loadKubeConfig, readServer } from '../../src/kube/kube-config.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'purser-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function config(user: string, more = ''): string {
  return `
apiVersion: v1
kind: Config
current-context: main
contexts: [{ name: main, context: { cluster: hub, user: me } }]
clusters: [{ name: hub, cluster: { server: 'https://hub:6443/', certificate-authority: pki/ca.crt, tls-server-name: kubernetes } }]
users: [{ name: me, user: ${user} }]
${more}`;
}

/** Writes the text to a file in the folder, and loads it. */
function load(text: string): Promise<KubeConfigSource> {
  const path = join(folder, 'kubeconfig');
  writeFileSync(path, text);
  return loadKubeConfig(path);
}

describe('loadKubeConfig', () => {
  it('finds the cluster and the user of the current context', async () => {
    const loaded = await load(config('{ token: t }'));
    expect(loaded.getCurrentCluster()).toMatchObject({
      server: 'https://hub:6443',
      caFile: join(folder, 'pki/ca.crt'),
      tlsServerName: 'kubernetes',
    });
    expect(loaded.getCurrentUser()).toMatchObject({ token: 't' });
  });

  it.each([
    [
      'client certificates',
      '{ client-certificate: c.crt, client-key: /abs/c.key }',
      () => ({ certFile: join(folder, 'c.crt'), keyFile: '/abs/c.key' }),
    ],
    [
      'a plugin by path',
      '{ exec: { command: ./bin/login, args: [x] } }',
      () => ({ exec: { command: join(folder, 'bin/login'), args: ['x'] } }),
    ],
    ['a plugin by name', '{ exec: { command: login } }', () => ({ exec: { command: 'login' } })],
    [
      'a token file',
      '{ tokenFile: run/token }',
      () => ({ authProvider: { name: 'tokenFile', config: { tokenFile: join(folder, 'run/token') } } }),
    ],
  ])('reads %s, with relative paths resolved from the folder of the kubeconfig', async (_, user, expected) => {
    expect((await load(config(user))).getCurrentUser()).toMatchObject(expected());
  });

  it('prefers a token file to a token, as kubectl does', async () => {
    expect((await load(config('{ token: t, tokenFile: /f }'))).getCurrentUser()).not.toHaveProperty('token');
  });

  it.each([
    ['no current context', 'clusters: []', 'no current-context'],
    ['a missing context', 'current-context: other', 'no context "other"'],
    ['a missing user', config('{}').replace('user: me }', 'user: you }'), 'no user "you"'],
    ['impersonation of groups, which is not supported', config('{ as: x, as-groups: [y] }'), 'as-groups is not supported'],
  ])('rejects %s', async (_, text, message) => {
    await expect(load(text)).rejects.toThrow(message);
  });

  it('merges files like kubectl: the first of several entries with the same name applies', async () => {
    mkdirSync(join(folder, 'second'));
    const [first, second] = [join(folder, 'first'), join(folder, 'second', 'config')];
    writeFileSync(first, 'users: [{ name: me, user: { token: first } }]');
    writeFileSync(second, config('{ token: second }'));
    const loaded = await loadKubeConfig([first, '', second].join(delimiter));
    expect(loaded.getCurrentUser()).toMatchObject({ token: 'first' });
    expect(loaded.getCurrentCluster()).toMatchObject({ caFile: join(folder, 'second/pki/ca.crt') });
  });
});

describe('readServer', () => {
  it('returns the address, the TLS server name and the certificate authority in the file', async () => {
    mkdirSync(join(folder, 'pki'));
    writeFileSync(join(folder, 'pki/ca.crt'), 'PEM');
    const loaded = await load(config('{ token: t }'));
    expect(await readServer(loaded)).toEqual({ server: 'https://hub:6443', ca: 'PEM', tlsServerName: 'kubernetes', isVerified: true });
  });

  it('returns an embedded certificate authority, and none for a server with a public certificate', async () => {
    const cluster = { name: 'hub', server: 'https://hub', skipTLSVerify: true, caData: 'UEVN', proxyUrl: 'https://proxy' };
    expect(await readServer(createFixedConfig(cluster, { name: 'me' }))).toEqual({
      server: 'https://hub',
      ca: 'PEM',
      proxy: 'https://proxy',
      isVerified: false,
    });
    const plain = { name: 'hub', server: 'https://hub', skipTLSVerify: false };
    expect(await readServer(createFixedConfig(plain, { name: 'me' }))).toEqual({ server: 'https://hub', isVerified: true });
  });
});

describe('createInClusterConfig', () => {
  it.each([
    ['10.0.0.1', 'https://10.0.0.1:443'],
    ['fd00::1', 'https://[fd00::1]:443'],
  ])('finds the API server at %s and the mounted token', (host, server) => {
    const found = createInClusterConfig({ KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: '443' }, '/run/sa');
    expect(found.getCurrentCluster()).toMatchObject({ server, caFile: '/run/sa/ca.crt', skipTLSVerify: false });
    expect(found.getCurrentUser()).toMatchObject({ authProvider: { config: { tokenFile: '/run/sa/token' } } });
  });

  it('throws if the process does not run in a cluster', () => {
    expect(() => createInClusterConfig({})).toThrow('KUBERNETES_SERVICE_HOST or KUBERNETES_SERVICE_PORT is not set');
  });
});
