// Façade in front of a real cluster, called by kubectl and by a Go program.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SignJWT } from 'jose';
import { parseSigningKey } from '../../apiserver/access/signing-key.ts';
import { Namespaces, ServiceAccounts } from '../../src/api/resources.ts';
import { createFacade, type Facade } from '../../src/facade/facade.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { createTransport, type Transport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { newFolder } from '../support/folders.ts';
import { createTokenBinary, kubeBinaries } from '../support/kube-binaries.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { run } from '../support/run.ts';
import { aCredential, registered, settings } from '../targets/registration.ts';

const ISSUER = 'https://hub.test';
const authority = createAuthority(Date.now());
const clients = new ClusterClients(settings(systemClock));
let cluster: RealCluster;
let transport: Transport;
let facade: Facade;
let url = '';
let accountUid = '';
let caFile = '';

beforeAll(async () => {
  cluster = await startRealCluster({ issuer: ISSUER });
  transport = createTransport(await loadKubeConfig(await cluster.kubeconfig('admin')), { clock: systemClock });
  const hub = new KubeClient(transport, 'tests');
  await hub.create(Namespaces, { metadata: { name: 'deploy' } });
  const { metadata } = await hub.create(ServiceAccounts, { metadata: { namespace: 'deploy', name: 'deployer' } });
  accountUid = metadata.uid ?? '';
  const target = registered({
    name: 'prod-eu',
    servers: [cluster.url],
    ca: cluster.ca,
    credential: aCredential({ token: 'admintoken', server: cluster.url, 'ca.crt': cluster.ca }),
  });
  const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  facade = createFacade({
    hub,
    clients,
    findRegistration: (name) => (name === 'prod-eu' ? target : undefined),
    certificate: async () => ({ cert, key }),
    clock: systemClock,
    log: createLogger({ level: 'silent', readable: false, write: () => {} }),
    settings: { facadePort: 0, bindAddress: '127.0.0.1' },
  });
  url = await facade.listen();
  caFile = join(await newFolder(), 'ca.crt');
  await writeFile(caFile, authority.certificate);
});

afterAll(async () => {
  await facade.close(1_000);
  await clients.close();
  await transport.close();
  await cluster.stop();
});

function kubectl(token: string, ...args: readonly string[]) {
  const connection = [
    '--server',
    `${url}/orchestrator/prod-eu`,
    '--certificate-authority',
    caFile,
    '--token',
    token,
    '--kubeconfig',
    '/dev/null',
  ];
  return run(kubeBinaries()?.kubectl ?? '', [...args, ...connection]);
}

describe('kubectl create token', () => {
  it('returns a token from the façade', async () => {
    const { code, output } = await kubectl(
      'admintoken',
      'create',
      'token',
      'deployer',
      '-n',
      'deploy',
      '--audience',
      'x',
      '--duration',
      '20m',
    );
    expect(output).toMatch(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(code).toBe(0);
    const claims = JSON.parse(Buffer.from(output.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;
    expect(claims).toMatchObject({ aud: ['x'], sub: 'system:serviceaccount:deploy:deployer' });
  });

  it.each([
    ['a user without permission', 'bobtoken', ['--audience', 'x'], 'cannot create resource "serviceaccounts/token"'],
    ['an unknown token', 'unknowntoken', ['--audience', 'x'], 'Unauthorized'],
    ['no audience', 'admintoken', [], 'spec.audiences: Required value'],
    [
      'a lifetime below ten minutes',
      'admintoken',
      ['--audience', 'x', '--duration', '1m'],
      'may not specify a duration less than 10 minutes',
    ],
    [
      'a bound Node',
      'admintoken',
      ['--audience', 'x', '--bound-object-kind', 'Node', '--bound-object-name', 'n'],
      'cannot bind token to object of type',
    ],
  ])('reports the error for %s', async (_case, token, more, message) => {
    const { code, output, stderr } = await kubectl(token, 'create', 'token', 'deployer', '-n', 'deploy', ...more);
    expect(`${output}${stderr}`).toContain(message);
    expect(code).not.toBe(0);
  });
});

describe('client-go', () => {
  const createToken = (token: string, name: string) => {
    const binary = createTokenBinary();
    if (binary === undefined) throw new Error('create-token was not found. Run `npm run kube:build`.');
    return run(binary, [`${url}/orchestrator/prod-eu`, caFile, token, 'deploy', name, 'x']);
  };

  it('decodes a token from the façade', async () => {
    const { code, output } = await createToken('admintoken', 'deployer');
    expect(JSON.parse(output)).toMatchObject({
      metadata: { name: 'deployer', namespace: 'deploy', uid: accountUid },
      spec: { audiences: ['x'], expirationSeconds: 3600 },
      status: { token: expect.stringMatching(/^eyJ[\w-]+\.[\w-]+\.[\w-]+$/), expirationTimestamp: expect.stringMatching(/Z$/) },
    });
    expect(code).toBe(0);
  });

  it.each([
    ['a user without permission', 'bobtoken', 'deployer', 'User "bob" cannot create resource "serviceaccounts/token"'],
    ['a missing service account', 'admintoken', 'missing', 'serviceaccounts "missing" not found'],
  ])('decodes the error for %s', async (_case, token, name, message) => {
    const { code, stderr } = await createToken(token, name);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });
});

describe('expired caller token', () => {
  it.each([
    ['accepts a caller token 30 seconds after expiry, as kube-apiserver does', 30, 201],
    ['rejects a caller token 61 seconds after expiry', 61, 401],
  ])('%s', async (_case, agoSeconds, status) => {
    const pem = await readFile(join(cluster.folder, 'service-account.key'), 'utf8');
    const { id, privateKey } = parseSigningKey(pem);
    const now = Math.floor(Date.now() / 1000);
    const claims = {
      aud: [ISSUER],
      exp: now - agoSeconds,
      iat: now - 3600,
      nbf: now - 3600,
      iss: ISSUER,
      sub: 'system:serviceaccount:deploy:deployer',
      'kubernetes.io': { namespace: 'deploy', serviceaccount: { name: 'deployer', uid: accountUid } },
    };
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: id }).sign(privateKey);
    const { output, stderr } = await kubectl(token, 'create', 'token', 'deployer', '-n', 'deploy', '--audience', 'x');
    // This service account has no permission; a 403 proves that it was authenticated.
    expect(`${output}${stderr}`).toContain(status === 401 ? 'Unauthorized' : 'User "system:serviceaccount:deploy:deployer" cannot create');
  });
});
