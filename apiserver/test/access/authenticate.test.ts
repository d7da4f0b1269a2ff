import { beforeAll, describe, expect, it } from '@jest/globals';
import { ANONYMOUS, type Authenticators, authenticate } from '../../access/authenticate.ts';
import type { ClientCertificate } from '../../access/client-certificate.ts';
import { signToken } from '../../access/json-web-token.ts';
import { claimsFor } from '../../access/service-account-claims.ts';
import { generateSigningKey, parseSigningKey } from '../../access/signing-key.ts';
import { core, storedObjects } from './stored-objects.ts';

const now = Date.UTC(2026, 10, 15);
const audiences = ['https://hub.test'];
const serviceAccount = core('ServiceAccount', { name: 'robot', namespace: 'lab', uid: 'u' });
const alice = { name: 'alice', uid: '2', groups: ['team-a'] };
const certificate: ClientCertificate = { trusted: true, commonName: 'carol', organizations: ['ops'], fingerprint: 'ab12' };

let authenticators: Authenticators;
let token: string;

beforeAll(async () => {
  const key = parseSigningKey(await generateSigningKey('ES256'));
  const serviceAccounts = { issuers: audiences, keys: [key], audiences, objects: storedObjects(serviceAccount) };
  authenticators = { staticTokens: new Map([['alicetoken', alice]]), serviceAccounts, audiences, anonymous: true };
  token = await signToken(
    { ...claimsFor({ issuer: 'https://hub.test', id: 'j', serviceAccount, audiences, lifetimeSeconds: 600 }, now) },
    key,
  );
});

describe('authenticate', () => {
  const anonymous = { type: 'accepted', user: ANONYMOUS };
  const asAlice = { type: 'accepted', user: { ...alice, groups: ['team-a', 'system:authenticated'] }, audiences };

  it.each([
    ['no header', undefined, anonymous],
    ['an empty header', '', anonymous],
    ['another scheme', 'Basic YTpi', anonymous],
    ['the scheme alone', 'Bearer', anonymous],
    ['the scheme and a space', 'Bearer ', anonymous],
    ['a token', 'Bearer alicetoken', asAlice],
    ['a lower-case scheme', 'bearer alicetoken', asAlice],
    ['space around', '  Bearer alicetoken  ', asAlice],
    ['a third word', 'Bearer alicetoken more words', asAlice],
    ['a bad token', 'Bearer nope', { type: 'refused', reason: 'invalid bearer token' }],
    ['a tab instead of a space', 'Bearer\talicetoken', anonymous],
  ])('takes %s', (_, authorization, outcome) => {
    expect(authenticate({ authorization }, audiences, authenticators, now)).toMatchObject({ ...outcome, warnings: [] });
  });

  it('ignores a token after two spaces, with a warning', () => {
    expect(authenticate({ authorization: 'Bearer  alicetoken' }, audiences, authenticators, now)).toMatchObject({
      ...anonymous,
      warnings: ['the provided Authorization header contains extra space before the bearer token, and is ignored'],
    });
  });

  it('knows service accounts', () => {
    expect(authenticate({ authorization: `Bearer ${token}` }, audiences, authenticators, now)).toMatchObject({
      user: {
        name: 'system:serviceaccount:lab:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:lab', 'system:authenticated'],
      },
    });
  });

  it('tells why a service-account token is refused', () => {
    expect(authenticate({ authorization: `Bearer ${token}` }, audiences, authenticators, now + 3_600_000)).toMatchObject({
      type: 'refused',
      reason: '[invalid bearer token, service account token has expired]',
    });
  });

  it.each([
    [['other'], { type: 'refused', reason: 'invalid bearer token' }],
    [['other', 'https://hub.test'], { ...asAlice, audiences: ['https://hub.test'] }],
  ])('accepts a static token for the audiences of the server alone: %j', (wanted, outcome) => {
    expect(authenticate({ authorization: 'Bearer alicetoken' }, wanted, authenticators, now)).toMatchObject(outcome);
  });

  it('prefers a certificate', () => {
    const user = {
      name: 'carol',
      groups: ['ops', 'system:authenticated'],
      extra: { 'authentication.kubernetes.io/credential-id': ['X509SHA256=ab12'] },
    };
    expect(authenticate({ certificate, authorization: 'Bearer nope' }, audiences, authenticators, now)).toMatchObject({ user });
  });

  it('refuses a certificate of another authority, unless a token is good', () => {
    const stranger = { ...certificate, trusted: false };
    expect(authenticate({ certificate: stranger }, audiences, authenticators, now).type).toBe('refused');
    expect(authenticate({ certificate: stranger, authorization: 'Bearer alicetoken' }, audiences, authenticators, now)).toMatchObject(
      asAlice,
    );
  });

  it('takes a certificate without a name for none', () => {
    expect(authenticate({ certificate: { ...certificate, commonName: '' } }, audiences, authenticators, now)).toMatchObject(anonymous);
  });

  it('refuses requests without credentials if nobody may be anonymous', () => {
    expect(authenticate({}, audiences, { ...authenticators, anonymous: false }, now).type).toBe('refused');
  });
});
