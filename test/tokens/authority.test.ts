import { describe, expect, it } from '@jest/globals';
import { IssueTokens } from '../../src/access/issue-permission.ts';
import { RbacIndex } from '../../src/access/rbac-index.ts';
import { tooManyRequests } from '../../src/kubernetes/status.ts';
import { Authority, type AuthorityOptions } from '../../src/tokens/authority.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { FakeClock } from '../support/clock.ts';

const signal = new AbortController().signal;
const token = {
  metadata: { name: 'ci', namespace: 'team-a', uid: 'u' },
  spec: { clusterName: 'one', serviceAccount: { namespace: 'deploy', name: 'deployer' }, requesterServiceAccountName: 'default' },
} as unknown as StoredToken;

interface Hub {
  readonly listed: string[];
  readonly authority: Authority;
}

/** Returns an authority with empty informers, on a hub with these service accounts and one result for all reviews. */
function authorityOn(accounts: () => Promise<readonly string[]>, response: unknown = { status: { allowed: true } }): Hub {
  const listed: string[] = [];
  const hub = {
    createReview: async () => response,
    list: async (_: unknown, { namespace = '', fieldSelector = '' }: { namespace?: string; fieldSelector?: string }) => {
      listed.push(`${namespace} ${fieldSelector}`);
      return { items: (await accounts()).map((name) => ({ metadata: { name } })) };
    },
  };
  const view = { hasRequester: () => false, permissions: new RbacIndex(IssueTokens) };
  const options = {
    hub,
    view,
    memory: new TrackedTokens(),
    clock: new FakeClock(),
    protectedNamespaces: [],
  } as unknown as AuthorityOptions;
  return { listed, authority: new Authority(options) };
}

describe('Authority.review with a requester that the informer does not have', () => {
  it('looks up the requester on the hub before it refuses', async () => {
    const { authority, listed } = authorityOn(async () => ['default']);
    expect(await authority.review(token, signal)).toEqual({ allowed: true });
    expect(listed).toEqual(['team-a metadata.name=default']);
  });

  it('refuses if the hub does not have the requester either', async () => {
    const { authority } = authorityOn(async () => []);
    expect(await authority.review(token, signal)).toMatchObject({ allowed: false, message: expect.stringContaining('does not exist') });
  });

  it('throws AuthorizationFailed while the hub does not respond', async () => {
    const { authority } = authorityOn(() => Promise.reject(new Error('no response')));
    await expect(authority.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });

  it('throws AuthorizationFailed with the Retry-After of the hub', async () => {
    const { authority } = authorityOn(() => Promise.reject(tooManyRequests('busy', 7)));
    await expect(authority.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed', retryAfterMs: 7_000 });
  });
});

describe('Authority.review of a decision', () => {
  const review = (response: unknown) => authorityOn(async () => ['default'], response).authority.review(token, signal);

  it.each([
    ['a denial', { allowed: false }],
    ['allowed and denied', { allowed: true, denied: true }],
    [
      'a denial, with a binding to a missing role',
      { allowed: false, evaluationError: 'clusterrole.rbac.authorization.k8s.io "x" not found' },
    ],
  ])('refuses for a decision with %s', async (_name, status) => {
    expect(await review({ status })).toMatchObject({ allowed: false });
  });

  it.each([
    ['an error', { status: { allowed: false, evaluationError: 'webhook not found' } }],
    ['a text', { status: { allowed: 'true' } }],
    ['a status of null', { status: null }],
    ['no status', {}],
  ])('throws AuthorizationFailed for a decision with %s', async (_name, response) => {
    await expect(review(response)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });
});
