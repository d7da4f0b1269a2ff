import { beforeAll, describe, expect, it } from '@jest/globals';
import { reviewKinds } from '../../../src/kubernetes/reviews.ts';
import { StatusError } from '../../../src/kubernetes/status.ts';
import { createBootstrapPolicy } from '../../access/bootstrap-policy.ts';
import { createStoredPolicy } from '../../access/policy.ts';
import { createClaims } from '../../access/service-account-tokens.ts';
import { generateSigningKey, parseSigningKey, signToken } from '../../access/signing-key.ts';
import { evaluateReview, type ReviewContext } from '../../reviews/review.ts';
import { binding, core, role, storedObjects } from '../access/stored-objects.ts';
import { readExchange } from '../recorded.ts';

const now = Date.UTC(2026, 10, 15);
const audiences = ['https://gold.test'];
const robot = core('ServiceAccount', { name: 'robot', namespace: 'lab', uid: 'u' });
const alice = { name: 'alice', uid: 'alice-uid', groups: ['team-a'] };
const secretReader = [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['s'], verbs: ['get'] }];
const objects = storedObjects(robot, role('lab-see', secretReader), binding('lab-see', 'alice'), ...createBootstrapPolicy());

let context: ReviewContext;
let token: string;

beforeAll(async () => {
  const key = parseSigningKey(generateSigningKey());
  const serviceAccounts = { issuer: 'https://gold.test', key, audiences, objects };
  context = {
    user: { ...alice, groups: ['team-a', 'system:authenticated'] },
    policy: createStoredPolicy(objects),
    authenticators: { staticTokens: new Map([['alicetoken', alice]]), serviceAccounts, audiences },
    now,
  };
  const grant = { issuer: 'https://gold.test', id: 'j', serviceAccount: robot, audiences: ['aud-1'], lifetimeSeconds: 600 };
  token = await signToken({ ...createClaims(grant, now) }, key);
});

async function review(kindName: string, body: object): Promise<unknown> {
  const kind = reviewKinds.find((each) => each.kind === kindName);
  if (kind === undefined) throw new Error(`${kindName} is not a review`);
  const object = { apiVersion: `${kind.group}/v1`, kind: kindName, metadata: {}, ...body };
  try {
    return await evaluateReview(kind, { object, manager: 'unknown' }, context);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
}

describe('evaluateReview', () => {
  it.each([
    'tokenreview-ok',
    'tokenreview-wrong-audience',
    'tokenreview-default-audience',
    'tokenreview-static',
    'tokenreview-garbage',
    'tokenreview-empty',
    'selfsubjectreview',
    'sar-denied',
    'sar-masters',
    'sar-empty',
    'sar-no-subject',
    'sar-both',
    'sar-allowed-by-name',
    'ssar',
    'ssrr',
  ])('returns the recorded result of %s', async (name) => {
    const { request, response } = readExchange('resources', name);
    const body = JSON.parse((request.body ?? '').replace('<jwt>', token));
    expect(normalize(await review(body.kind, body))).toEqual(normalize(JSON.parse(response.body)));
  });

  it('omits the token from errors', async () => {
    const { status } = (await review('TokenReview', { spec: { token: `${token}x` } })) as { status: { error: string } };
    expect(status.error).not.toContain(token.slice(0, 10));
  });

  it.each([
    ['a token of one space', ' ', { authenticated: true, user: { username: 'system:anonymous', groups: ['system:unauthenticated'] } }],
    ['a token with a second word', 'alicetoken x', { authenticated: true, user: { username: 'alice' } }],
  ])('parses %s like the token in an Authorization header', async (_, spec, status) => {
    expect(await review('TokenReview', { spec: { token: spec } })).toMatchObject({ status });
  });

  it('drops metadata that only the server sets, and keeps other metadata', async () => {
    const metadata = {
      name: 'x',
      uid: 'u',
      creationTimestamp: '2020-01-01T00:00:00Z',
      namespace: 'foo',
      generation: 3,
      labels: { a: 'b' },
    };
    expect(await review('TokenReview', { metadata, spec: { token: 'garbage' } })).toMatchObject({
      metadata: { name: 'x', generation: 3, labels: { a: 'b' }, managedFields: [expect.objectContaining({ manager: 'unknown' })] },
    });
    expect(await review('TokenReview', { metadata, spec: { token: 'garbage' } })).not.toHaveProperty('metadata.uid');
  });
});

describe('evaluateReview of access reviews', () => {
  const podsIn = (namespace: string, more: object = {}) => ({ resourceAttributes: { verb: 'get', resource: 'pods', namespace, ...more } });

  it.each(['fieldSelector', 'labelSelector'])('rejects the unsupported field %s', async (field) => {
    expect(await review('SelfSubjectAccessReview', { spec: podsIn('lab', { [field]: { rawSelector: 'a=b' } }) })).toMatchObject({
      code: 422,
      message: expect.stringContaining(
        `spec.resourceAttributes.${field}: Forbidden: the local API server does not support selectors in access reviews; use a real cluster`,
      ),
    });
  });
});

describe('evaluateReview of SelfSubjectRulesReviews', () => {
  it('rejects a review without a namespace', async () => {
    expect(await review('SelfSubjectRulesReview', {})).toMatchObject({ code: 400, message: 'no namespace on request' });
  });

  it('reports bound roles that do not exist', async () => {
    context = { ...context, policy: createStoredPolicy(storedObjects(binding('x', 'alice'), binding('y', 'alice'))) };
    expect(await review('SelfSubjectRulesReview', { spec: { namespace: 'lab' } })).toMatchObject({
      status: {
        resourceRules: [],
        evaluationError: '[clusterrole.rbac.authorization.k8s.io "x" not found, clusterrole.rbac.authorization.k8s.io "y" not found]',
      },
    });
  });
});

/** Replaces values that differ between runs; drops `authenticated: false`, which the encoder omits. */
function normalize(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, field) => {
    if (['creationTimestamp', 'time', 'token'].includes(key) || (key === 'uid' && field !== 'alice-uid')) return '…';
    if (key === 'authentication.kubernetes.io/credential-id') return '…';
    return key === 'authenticated' && field === false ? undefined : field;
  });
}
