import { describe, expect, it } from '@jest/globals';
import { explainRejection } from '../../src/clusters/federation.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { Sensitive } from '../../src/std/sensitive.ts';
import type { AddressToken } from '../../src/targets/credential.ts';
import type { Target } from '../../src/targets/target.ts';

const SERVER = 'https://a.example.com';
const REJECTED = { reason: 'CredentialRejected', detail: 'Unauthorized' } as const;
const token: AddressToken = {
  audience: `purser:${SERVER}`,
  issuer: 'https://hub.example.com',
  times: undefined,
  failure: undefined,
  current: undefined,
  get: () => Promise.reject(new Error('unused')),
  replace: () => Promise.reject(new Error('unused')),
};
const federated = { activeServer: SERVER, credential: { type: 'serviceAccount', tokens: new Map([[SERVER, token]]) } } as const;

/** Returns a hub that responds to reviews with this status, and the reviews that it received. */
function hubWith(status: () => object) {
  const reviews: unknown[] = [];
  const createReview = async (_: unknown, review: unknown) => {
    reviews.push(review);
    return { status: status() };
  };
  return { reviews, hub: { createReview } as unknown as Pick<KubeClient, 'createReview'> };
}

const explain = (target: Pick<Target, 'credential' | 'activeServer'>, hub: Pick<KubeClient, 'createReview'>, fault = REJECTED) =>
  explainRejection(fault, target, hub, new AbortController().signal);

describe('explainRejection', () => {
  it('names the missing binding if the hub rejects anonymous reads of its keys', async () => {
    const { hub, reviews } = hubWith(() => ({ allowed: false }));
    expect((await explain(federated, hub)).remedy).toContain('system:service-account-issuer-discovery');
    expect(reviews).toEqual([
      {
        spec: {
          user: 'system:anonymous',
          groups: ['system:unauthenticated'],
          nonResourceAttributes: { path: '/openid/v1/jwks', verb: 'get' },
        },
      },
    ]);
  });

  it.each<[string, () => object]>([
    ['allows anonymous reads of its keys', () => ({ allowed: true })],
    [
      'does not respond',
      () => {
        throw new Error('down');
      },
    ],
  ])('names only issuer and audience if the hub %s', async (_, status) => {
    const { detail, remedy } = await explain(federated, hubWith(status).hub);
    expect(detail).toBe(`tokens issued by the hub, with issuer https://hub.example.com and audience purser:${SERVER}`);
    expect(remedy).not.toContain('discovery');
  });

  it('returns other faults, and those of a stored credential, unchanged and without a review', async () => {
    const { hub, reviews } = hubWith(() => ({ allowed: false }));
    const timeout = { reason: 'Timeout', detail: '' } as const;
    expect(await explainRejection(timeout, federated, hub, new AbortController().signal)).toBe(timeout);
    const stored = { activeServer: SERVER, credential: { type: 'token', token: new Sensitive('t') } } as const;
    expect(await explain(stored, hub)).toBe(REJECTED);
    expect(reviews).toEqual([]);
  });
});
