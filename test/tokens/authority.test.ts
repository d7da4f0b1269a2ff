import { describe, expect, it } from '@jest/globals';
import { IssueTokens, RbacIndex } from '../../src/access/rbac-index.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { tooManyRequests } from '../../src/kubernetes/status.ts';
import { Authority, type AuthorityOptions } from '../../src/tokens/authority.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { FakeClock } from '../support/clock.ts';

const signal = new AbortController().signal;
const token = {
  metadata: { name: 'ci', namespace: 'team-a', uid: 'u' },
  spec: { clusterName: 'one', serviceAccount: { namespace: 'deploy', name: 'deployer' }, requesterServiceAccountName: 'default' },
} as unknown as ManagedToken;

interface Hub {
  readonly listed: string[];
  readonly authority: Authority;
}

/** Returns an authority with empty informers, on a hub with these service accounts and one result for all reviews. */
function knowingNobody(accounts: () => Promise<readonly string[]>, answer: unknown = { status: { allowed: true } }): Hub {
  const listed: string[] = [];
  const hub = {
    createReview: async () => answer,
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

describe('a requester that the informer does not know', () => {
  it('is looked for on the hub before anything is refused', async () => {
    const { authority, listed } = knowingNobody(async () => ['default']);
    expect(await authority.review(token, signal)).toEqual({ allowed: true });
    expect(listed).toEqual(['team-a metadata.name=default']);
  });

  it('is missing if the hub says so, too', async () => {
    const { authority } = knowingNobody(async () => []);
    expect(await authority.review(token, signal)).toMatchObject({ allowed: false, message: expect.stringContaining('does not exist') });
  });

  it('is neither there nor missing while the hub does not say', async () => {
    const { authority } = knowingNobody(() => Promise.reject(new Error('no answer')));
    await expect(authority.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });

  it('is asked for again when the hub wants to be asked again', async () => {
    const { authority } = knowingNobody(() => Promise.reject(tooManyRequests('busy', 7)));
    await expect(authority.review(token, signal)).rejects.toMatchObject({ reason: 'AuthorizationFailed', retryAfterMs: 7_000 });
  });
});

describe('what the hub decides', () => {
  const review = (answer: unknown) => knowingNobody(async () => ['default'], answer).authority.review(token, signal);

  it.each([
    ['a no', { allowed: false }],
    ['yes and no', { allowed: true, denied: true }],
    [
      'a no, with a binding to a role that is gone',
      { allowed: false, evaluationError: 'clusterrole.rbac.authorization.k8s.io "x" not found' },
    ],
  ])('is a refusal when it says %s', async (_name, status) => {
    expect(await review({ status })).toMatchObject({ allowed: false });
  });

  it.each([
    ['an error', { status: { allowed: false, evaluationError: 'webhook is gone' } }],
    ['a text', { status: { allowed: 'true' } }],
    ['a status of null', { status: null }],
    ['no status', {}],
  ])('does not count towards a removal when it says %s', async (_name, answer) => {
    await expect(review(answer)).rejects.toMatchObject({ reason: 'AuthorizationFailed' });
  });
});
