import { describe, expect, it } from '@jest/globals';
import { parseTime, toCluster, toToken, withHubFields } from '../../../src/ui/model/objects.ts';
import { textEverywhere } from './tokens.ts';

const TOKEN = {
  metadata: { namespace: 'team-a', name: 'ci', creationTimestamp: '2026-11-17T06:00:00Z' },
  spec: {
    clusterName: 'prod',
    serviceAccount: { namespace: 'deploy', name: 'deployer' },
    requesterServiceAccountName: 'ci-bot',
    audiences: ['vault'],
    rotation: { suspend: true },
    secret: { name: 'ci-token', outputs: ['Token'] },
    revocation: 'None',
  },
  status: {
    conditions: [{ type: 'Ready', status: 'True', reason: 'Issued', message: 'Valid.', lastTransitionTime: '2026-11-17T07:00:00Z' }],
    issuedAt: '2026-11-17T07:00:00Z',
    expirationTimestamp: '2026-11-17T08:00:00Z',
    rotations: 3,
  },
};

describe('toToken', () => {
  it('returns all fields that the page shows', () => {
    expect(toToken(TOKEN)).toEqual({
      key: 'team-a/ci',
      namespace: 'team-a',
      name: 'ci',
      cluster: 'prod',
      account: 'deploy/deployer',
      requester: 'ci-bot',
      audiences: ['vault'],
      outputs: ['Token'],
      secret: 'ci-token',
      revocation: 'None',
      isSuspended: true,
      createdAt: Date.parse('2026-11-17T06:00:00Z'),
      issuedAt: Date.parse('2026-11-17T07:00:00Z'),
      expiresAt: Date.parse('2026-11-17T08:00:00Z'),
      renewsAt: undefined,
      rotations: 3,
      credentialId: '',
      ready: { type: 'Ready', status: 'True', reason: 'Issued', message: 'Valid.', since: Date.parse('2026-11-17T07:00:00Z') },
      rotationFailing: undefined,
    });
  });

  it.each([
    [undefined],
    [null],
    ['text'],
    [[]],
    [{}],
    [{ metadata: null }],
    [{ metadata: { name: 'x' } }],
    [{ metadata: { name: 1, namespace: 'a' } }],
  ])('ignores %p, which has no namespace or no name', (object) => {
    expect(toToken(object)).toBeUndefined();
  });

  it('escapes invisible characters in all strings', () => {
    const [text, visible] = ['a\u202eb', 'a\\u{202e}b'];
    const token = toToken(textEverywhere(text));
    expect(JSON.stringify(token)).not.toContain(text);
    expect(token).toMatchObject({ key: `${visible}/${visible}`, audiences: [visible], ready: { reason: visible, message: visible } });
  });

  it('treats fields of other types as absent', () => {
    const odd = {
      metadata: TOKEN.metadata,
      spec: { clusterName: {}, serviceAccount: [], audiences: 'x', secret: null },
      status: { conditions: [null, 1, { type: 'Ready', status: 'maybe' }], rotations: 'many' },
    };
    expect(toToken(odd)).toMatchObject({ cluster: '', account: '/', audiences: [], ready: undefined, rotations: undefined, secret: 'ci' });
  });
});

describe('toCluster', () => {
  it('returns addresses, labels and conditions', () => {
    const cluster = toCluster({
      metadata: { name: 'prod', labels: { env: 'prod', odd: 1 } },
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: 'https://a' }, null, {}] } },
      status: { version: 'v1.36.4', type: 'EKS', conditions: [{ type: 'Ready', status: 'False', reason: 'Timeout' }] },
    });
    expect(cluster).toMatchObject({
      key: 'prod',
      labels: ['env=prod'],
      endpoints: ['https://a'],
      version: 'v1.36.4',
      latencyMs: undefined,
    });
    expect(cluster?.conditions).toEqual([{ type: 'Ready', status: 'False', reason: 'Timeout', message: '', since: undefined }]);
  });

  it('escapes invisible characters in all strings', () => {
    const [text, visible] = ['a\u202eb', 'a\\u{202e}b'];
    const cluster = toCluster({
      metadata: { name: text, labels: { [text]: text } },
      spec: { orchestratorApiEndpoints: { serverEndpoints: [{ serverAddress: text }] } },
      status: { version: text, type: text, conditions: [{ type: text, status: 'False', reason: text, message: text }] },
    });
    expect(JSON.stringify(cluster)).not.toContain(text);
    expect(cluster).toMatchObject({ key: visible, labels: [`${visible}=${visible}`], endpoints: [visible] });
  });

  it('ignores an object without a name', () => {
    expect(toCluster({ metadata: {} })).toBeUndefined();
  });
});

describe('withHubFields', () => {
  it('adds the latency, the credential expiry and the conditions from the hub', () => {
    const seen = toCluster({ metadata: { name: 'prod' }, status: { version: 'v1' } });
    const hub = toCluster({
      metadata: { name: 'prod' },
      status: {
        probeLatencyMilliseconds: 12,
        credentialExpirationTime: '2026-11-18T00:00:00Z',
        conditions: [{ type: 'Ready', status: 'True' }],
      },
    });
    if (seen === undefined) throw new Error('no cluster');
    expect(withHubFields(seen, hub)).toMatchObject({
      version: 'v1',
      latencyMs: 12,
      credentialExpiresAt: Date.parse('2026-11-18'),
      conditions: [{ type: 'Ready' }],
    });
    expect(withHubFields(seen, undefined)).toBe(seen);
  });
});

describe('parseTime', () => {
  it.each([[''], ['yesterday'], ['2026'], [1], ['2026-13-45T99:99:99Z']])('returns undefined for %p', (value) => {
    expect(parseTime(value)).toBeUndefined();
  });
});
