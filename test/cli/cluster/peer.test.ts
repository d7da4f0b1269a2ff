import { describe, expect, it } from '@jest/globals';
import { callPeer, type Peer } from '../../../src/cli/cluster/peer.ts';
import { CommandError } from '../../../src/cli/command.ts';
import type { KubeClient } from '../../../src/kube/client.ts';
import { TransportError } from '../../../src/kube/transport-error.ts';
import { modified, notFound, pathNotFound, statusError, unauthorized } from '../../../src/kubernetes/status.ts';

const client = { transport: { server: 'https://eu.example.com' } } as unknown as KubeClient;
const HUB: Peer = { role: 'hub', context: undefined, client };
const TARGET: Peer = { role: 'target cluster', context: 'eu', client };

async function messageOf(peer: Peer, error: Error): Promise<string> {
  const thrown: unknown = await callPeer(peer, () => Promise.reject(error)).catch((each: unknown) => each);
  expect(thrown).toBeInstanceOf(CommandError);
  return (thrown as CommandError).message;
}

const CLUSTERS = { group: 'registry.purser.dev', name: 'clusters' };

describe('callPeer', () => {
  it.each<[string, Peer, Error, string]>([
    ['401', HUB, unauthorized(), 'the hub rejects the credential of the current context. Log in again, or check the context of the hub'],
    [
      '403 from an authorizer',
      TARGET,
      statusError('Forbidden', 'User "a" cannot patch resource "namespaces"\nin API group ""'),
      'the target cluster responded: User "a" cannot patch resource "namespaces" in API group "". Grant the user of context "eu" this permission, or check the context of the target cluster',
    ],
    [
      '403 for permissions that the user does not have',
      TARGET,
      statusError('Forbidden', 'user "a" is attempting to grant RBAC permissions not currently held'),
      'the target cluster responded: user "a" is attempting to grant RBAC permissions not currently held. Grant the user of context "eu" this permission, or check the context of the target cluster',
    ],
    [
      '403 from an admission plugin',
      TARGET,
      statusError('Forbidden', 'secrets "a" is forbidden: exceeded quota: small'),
      'the target cluster responded: secrets "a" is forbidden: exceeded quota: small',
    ],
    [
      'an unknown kind',
      HUB,
      pathNotFound(),
      "the hub does not serve Purser's resources. Install Purser there, or check the context of the hub",
    ],
    [
      'a missing namespace',
      TARGET,
      notFound({ group: '', name: 'namespaces' }, 'a'),
      'the target cluster responded: namespaces "a" not found. Create the namespace, or correct the option that names it',
    ],
    ['a missing object', TARGET, notFound({ group: '', name: 'secrets' }, 'a'), 'the target cluster responded: secrets "a" not found'],
    [
      'a conflict',
      HUB,
      modified(CLUSTERS, 'eu'),
      'the hub responded: Operation cannot be fulfilled on clusters.registry.purser.dev "eu": the object has been modified; please apply your changes to the latest version and try again. Run the command again',
    ],
    [
      'no connection',
      TARGET,
      new TransportError('ECONNREFUSED', 'connect ECONNREFUSED'),
      'cannot connect to the target cluster at https://eu.example.com (ECONNREFUSED). Check the network and the address of context "eu"',
    ],
    [
      'an untrusted certificate',
      TARGET,
      new TransportError('SELF_SIGNED_CERT_IN_CHAIN', 'self-signed'),
      'the certificate of https://eu.example.com is not trusted (SELF_SIGNED_CERT_IN_CHAIN). Check certificate-authority-data and the address of context "eu"',
    ],
    [
      'a failed plugin',
      TARGET,
      new TransportError(
        'UNKNOWN',
        'GET https://eu.example.com/x: no credentials for https://eu.example.com: credential plugin aws failed: ENOENT',
      ),
      'cannot authenticate to the target cluster: credential plugin aws failed: ENOENT. Check the user of context "eu"',
    ],
    [
      'another server',
      HUB,
      new TransportError('EBADMSG', 'the response is not JSON'),
      'https://eu.example.com is not a Kubernetes API server. Check the address of the current context',
    ],
  ])('names the cause and, if one is known, the remedy for %s', async (_, peer, error, expected) => {
    expect(await messageOf(peer, error)).toBe(expected);
  });

  it('passes other errors through, and redacts tokens in messages', async () => {
    await expect(callPeer(HUB, () => Promise.reject(new RangeError('defect')))).rejects.toThrow(RangeError);
    const jwt = `eyJhbGciOiJSUzI1NiJ9.${'x'.repeat(40)}.${'y'.repeat(40)}`;
    expect(await messageOf(HUB, statusError('Invalid', `invalid token ${jwt}`))).not.toContain('eyJ');
  });
});
