import { describe, expect, it } from '@jest/globals';
import { type RegistrationRequest, toRegistration } from '../../../src/cli/cluster/context.ts';
import { StartError } from '../../../src/config/start-error.ts';

const REQUEST: RegistrationRequest = {
  name: 'eu',
  namespace: 'purser-system',
  context: { name: 'kind-eu', server: 'https://eu.example.com:6443', ca: 'PEM', isVerified: true },
  labels: { env: 'prod' },
};

/** IP addresses to which this machine resolves names. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'eu.example.com': '192.0.2.1',
  'kubernetes.docker.internal': '127.0.0.1',
  'metadata.example.com': '169.254.169.254',
};

async function register(request: Partial<RegistrationRequest>): Promise<unknown> {
  const findAddresses = async (name: string) => {
    const address = ADDRESSES[name];
    if (address === undefined) throw new Error(`${name} was not found`);
    return [{ address, family: 4 }];
  };
  return await toRegistration({ ...REQUEST, ...request }, findAddresses).catch((error: unknown) => error);
}

const at = (server: string, more: object = {}) => ({ context: { ...REQUEST.context, server, ...more } });

describe('toRegistration', () => {
  it('returns the address, authority and proxy of the context', async () => {
    expect(await register(at('https://eu.example.com:6443', { proxy: 'https://proxy.example.com' }))).toEqual({
      name: 'eu',
      namespace: 'purser-system',
      server: 'https://eu.example.com:6443',
      ca: 'PEM',
      proxy: 'https://proxy.example.com',
      namespaces: undefined,
      labels: { env: 'prod' },
    });
  });

  it.each([
    'https://127.0.0.1:6443',
    'https://localhost:6443',
    'https://eu.localhost',
    'https://[::1]:6443',
    'https://kubernetes.docker.internal:6443',
  ])('refuses the loopback address %s, unless allowLoopback is true or --server names another address', async (server) => {
    const error = await register(at(server));
    expect(error).toBeInstanceOf(StartError);
    expect(String(error)).toMatch(
      /in context "kind-eu" is a loopback address, .*\. Set --server .*kind get kubeconfig --internal.*--allow-loopback/,
    );
    expect(await register({ ...at(server), allowLoopback: true })).toMatchObject({ server });
    expect(await register({ ...at(server), server: 'https://eu.example.com' })).toMatchObject({
      server: 'https://eu.example.com',
      ca: 'PEM',
    });
  });

  it('accepts a name that only the hub resolves', async () => {
    expect(await register({ server: 'https://eu-control-plane:6443' })).toMatchObject({ server: 'https://eu-control-plane:6443' });
  });

  it.each(['https://169.254.169.254', 'https://0.0.0.0:6443', 'https://metadata.example.com'])(
    'refuses %s, to which Purser never connects',
    async (server) => {
      expect(String(await register({ server, allowLoopback: true }))).toMatch(
        /Purser does not connect to .* in --server: the address is link-local, .* or that of a metadata service\. Set --server/,
      );
    },
  );

  it.each(['http://eu.example.com', 'eu example', 'https://user@eu.example.com', 'https://eu.example.com/?a=b'])(
    'refuses the address %s',
    async (server) => {
      expect(String(await register({ server }))).toMatch(
        / in --server is neither a host nor an https URL without user, query, fragment.*\. Set --server to such an address$/,
      );
    },
  );

  it('refuses a context that does not verify the server certificate, or that expects another name in it', async () => {
    expect(String(await register(at('https://eu.example.com', { isVerified: false })))).toContain(
      'Set certificate-authority-data instead of',
    );
    const renamed = at('https://192.0.2.1', { tlsServerName: 'eu.example.com' });
    expect(String(await register(renamed))).toContain('sets tls-server-name, which Purser does not support. Set --server');
    expect(await register({ ...renamed, server: 'https://eu.example.com' })).toMatchObject({ server: 'https://eu.example.com' });
  });
});
