// Verifies tokens with an issuer that serves its keys over TLS.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../../src/std/x509/certificates.ts';
import { startWireServer, type WireHandler, type WireServer } from '../../../test/support/wire-server.ts';
import { authenticate } from '../../access/authenticate.ts';
import {
  createKeySet,
  createOpenIdDocument,
  generateSigningKey,
  parseSigningKey,
  type SigningKey,
  signToken,
} from '../../access/signing-key.ts';
import { TrustedTokenVerifier } from '../../access/trusted-issuer.ts';
import { startApiServer } from '../../server.ts';
import { storedObjects } from './stored-objects.ts';

const ISSUER = 'https://hub.test';
const SERVER = 'https://127.0.0.1:6443';
const SUBJECT = 'system:serviceaccount:purser-system:purser-federated';
const NOW = Date.UTC(2026, 10, 15);
const CLAIMS = { iss: ISSUER, sub: SUBJECT, aud: [`purser:${SERVER}`], iat: NOW / 1_000, nbf: NOW / 1_000, exp: NOW / 1_000 + 3_600 };
const authority = createAuthority(Date.now());

let issuer: WireServer;
let key: SigningKey;
let verifier: TrustedTokenVerifier;

beforeEach(async () => {
  key = parseSigningKey(generateSigningKey());
  const { certificate: cert, key: serverKey } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
  issuer = await startWireServer(serve, { tls: { cert, key: serverKey } });
  verifier = new TrustedTokenVerifier(trust(), () => SERVER);
});

afterEach(() => issuer.close());

const serve: WireHandler = ({ path }, reply) => {
  const documents = path.startsWith('/.well-known/') ? createOpenIdDocument(ISSUER, `${issuer.url}/openid/v1/jwks`) : createKeySet(key);
  return reply.text(200, documents.body);
};

function trust() {
  return {
    url: ISSUER,
    discovery: async () => ({ url: `${issuer.url}/.well-known/openid-configuration`, ca: authority.certificate }),
    audiences: (url: string) => [`purser:${url}`],
    subject: SUBJECT,
    usernamePrefix: 'hub:',
  };
}

const verify = async (claims: object = {}, by = key, at = NOW) => await verifier.verify(await signToken({ ...CLAIMS, ...claims }, by), at);

describe('TrustedTokenVerifier', () => {
  it('accepts a token with the prefixed subject as user, and fetches the keys once', async () => {
    expect(await verify()).toEqual({ name: `hub:${SUBJECT}`, groups: [] });
    expect(await verify()).toBeDefined();
    expect(issuer.requests.map(({ path }) => path)).toEqual(['/.well-known/openid-configuration', '/openid/v1/jwks']);
  });

  it('returns the token ID with the user, as kube-apiserver does', async () => {
    expect(await verify({ jti: 'a-jti' })).toMatchObject({ extra: { 'authentication.kubernetes.io/credential-id': ['JTI=a-jti'] } });
  });

  it.each([
    ['another audience', { aud: ['purser:https://127.0.0.1:6444'] }],
    ['the audience of the hub', { aud: [ISSUER] }],
    ['no audience', { aud: undefined }],
    ['another subject', { sub: 'system:serviceaccount:purser-system:default' }],
    ['another issuer', { iss: 'https://elsewhere.test' }],
    ['no expiry', { exp: undefined }],
    ['an expiry in the past', { exp: NOW / 1_000 - 1 }],
    ['a start in the future', { nbf: NOW / 1_000 + 60 }],
  ])('rejects a token with %s', async (_, claims) => {
    expect(await verify(claims)).toBeUndefined();
  });

  it('rejects a string that is not a token, and a token signed with another key', async () => {
    expect(await verifier.verify('opaque', NOW)).toBeUndefined();
    const other = parseSigningKey(generateSigningKey());
    expect(await verify({}, other)).toBeUndefined();
    expect(await verify({}, { ...other, id: key.id })).toBeUndefined();
  });

  it.each<[string, WireHandler]>([
    ['rejects requests', (_, reply) => reply.text(403, 'forbidden')],
    ['has a document of another issuer', (_, reply) => reply.text(200, createOpenIdDocument('https://elsewhere.test', issuer.url).body)],
    ['returns no JSON', (_, reply) => reply.text(200, '<html>')],
    ['does not respond', (_, reply) => reply.reset()],
  ])('rejects all tokens while the issuer %s', async (_, handler) => {
    issuer.handle(handler);
    expect(await verify()).toBeUndefined();
    issuer.handle(serve);
    expect(await verify()).toBeDefined();
  });
});

describe('authenticate with a trusted issuer', () => {
  it('accepts a token of the issuer only for the audiences of this server', async () => {
    const serviceAccounts = {
      issuer: SERVER,
      key: parseSigningKey(generateSigningKey()),
      audiences: [SERVER],
      objects: storedObjects(),
    };
    const authenticators = { staticTokens: new Map(), serviceAccounts, trusted: verifier, audiences: [SERVER] };
    const authorization = `Bearer ${await signToken(CLAIMS, key)}`;
    expect(await authenticate(authorization, [SERVER, 'other'], authenticators, NOW)).toEqual({
      type: 'accepted',
      user: { name: `hub:${SUBJECT}`, groups: ['system:authenticated'] },
      audiences: [SERVER],
    });
    expect(await authenticate(authorization, ['other'], authenticators, NOW)).toMatchObject({ type: 'rejected' });
  });
});

describe('startApiServer', () => {
  it('rejects its own issuer as a trusted issuer', async () => {
    const options = { folder: '/nonexistent', port: 0, issuer: ISSUER, tokens: new Map(), trusts: trust(), report: () => {} };
    await expect(startApiServer(options)).rejects.toThrow("the trusted issuer must differ from the server's own issuer");
  });
});
