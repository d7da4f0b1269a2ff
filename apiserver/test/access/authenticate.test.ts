import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Authenticators, authenticate } from '../../access/authenticate.ts';
import { createClaims } from '../../access/service-account-tokens.ts';
import { generateSigningKey, parseSigningKey, signToken } from '../../access/signing-key.ts';
import { core, storedObjects } from './stored-objects.ts';

const now = Date.UTC(2026, 10, 15);
const audiences = ['https://hub.test'];
const serviceAccount = core('ServiceAccount', { name: 'robot', namespace: 'lab', uid: 'u' });
const alice = { name: 'alice', uid: '2', groups: ['team-a'] };

let authenticators: Authenticators;
let token: string;

beforeAll(async () => {
  const key = parseSigningKey(generateSigningKey());
  const serviceAccounts = { issuer: 'https://hub.test', key, audiences, objects: storedObjects(serviceAccount) };
  authenticators = { staticTokens: new Map([['alicetoken', alice]]), serviceAccounts, audiences };
  token = await signToken(
    { ...createClaims({ issuer: 'https://hub.test', id: 'j', serviceAccount, audiences, lifetimeSeconds: 600 }, now) },
    key,
  );
});

describe('authenticate', () => {
  const anonymous = { type: 'accepted', user: { name: 'system:anonymous', groups: ['system:unauthenticated'] } };
  const asAlice = { type: 'accepted', user: { ...alice, groups: ['team-a', 'system:authenticated'] }, audiences };

  it.each([
    ['treats an absent Authorization header as anonymous', undefined, anonymous],
    ['treats an empty Authorization header as anonymous', '', anonymous],
    ['treats a scheme other than Bearer as anonymous', 'Basic YTpi', anonymous],
    ['treats a scheme without a token as anonymous', 'Bearer', anonymous],
    ['treats a scheme with a space but no token as anonymous', 'Bearer ', anonymous],
    ['accepts a static token', 'Bearer alicetoken', asAlice],
    ['accepts a lowercase scheme', 'bearer alicetoken', asAlice],
    ['ignores spaces around the Authorization header', '  Bearer alicetoken  ', asAlice],
    ['ignores words after the token', 'Bearer alicetoken more words', asAlice],
    ['rejects an unknown token', 'Bearer nope', { type: 'rejected', reason: 'invalid bearer token' }],
    ['treats a token after two spaces as anonymous', 'Bearer  alicetoken', anonymous],
    ['treats a tab between scheme and token as anonymous', 'Bearer\talicetoken', anonymous],
  ])('%s', async (_, authorization, outcome) => {
    expect(await authenticate(authorization, audiences, authenticators, now)).toMatchObject(outcome);
  });

  it('accepts service-account tokens', async () => {
    expect(await authenticate(`Bearer ${token}`, audiences, authenticators, now)).toMatchObject({
      user: {
        name: 'system:serviceaccount:lab:robot',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:lab', 'system:authenticated'],
      },
    });
  });

  it('returns the reason for rejecting a service-account token', async () => {
    expect(await authenticate(`Bearer ${token}`, audiences, authenticators, now + 3_600_000)).toMatchObject({
      type: 'rejected',
      reason: '[invalid bearer token, service account token has expired]',
    });
  });

  it.each([
    [['other'], { type: 'rejected', reason: 'invalid bearer token' }],
    [['other', 'https://hub.test'], { ...asAlice, audiences: ['https://hub.test'] }],
  ])('accepts a static token only for the audiences of the server: %j', async (wanted, outcome) => {
    expect(await authenticate('Bearer alicetoken', wanted, authenticators, now)).toMatchObject(outcome);
  });
});
