import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Annotation, Label } from '../../../src/api/names.ts';
import { computeDigest } from '../../../src/std/digest.ts';
import { parseRecord } from '../../../src/tokens/policy/record.ts';
import { earlierClaimant, holdsToken, isReserved, toDataDigest, toOutputsDigest, withoutToken } from '../../../src/tokens/policy/secret.ts';
import { aCluster, aGrant, aToken, at, contentOf, SERVER, stored, type TokenBuilder, writtenSecret } from '../../support/builders.ts';

const ARGO_LABEL = 'argocd.argoproj.io/secret-type';

function written(token: TokenBuilder, grant = aGrant(), existing?: ReturnType<typeof stored>) {
  return writtenSecret({ token: token.build(), cluster: aCluster(), secret: existing }, grant);
}

function withOwn(metadata: object) {
  const { metadata: own, ...secret } = stored(written(aToken()));
  return { ...secret, metadata: { ...own, ...metadata } };
}

describe('desiredSecret', () => {
  it('returns the Secret with data, labels, annotations and owner', () => {
    const { data, ...secret } = written(aToken());
    expect(secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      type: 'Opaque',
      metadata: {
        name: 'ci',
        namespace: 'team-a',
        labels: { 'tokens.purser.dev/managed-by': 'purser' },
        annotations: {
          'tokens.purser.dev/issued-at': '2026-03-01T12:00:00Z',
          'tokens.purser.dev/expires-at': '2026-03-01T13:00:00Z',
          'tokens.purser.dev/renew-at': '2026-03-01T12:46:38Z',
          'tokens.purser.dev/issued-for':
            '{"cluster":"prod-eu","clusterUID":"4f0e3c1d-0000-4000-8000-000000000001","credential":"","requester":"default","subject":"system:serviceaccount:deploy:deployer",' +
            '"accountUID":"9d6a0f52-0000-4000-8000-00000000000a","audiences":["https://kubernetes.default.svc"],"boundTo":""}',
          'tokens.purser.dev/rotations': '0',
          'tokens.purser.dev/token-digest': computeDigest(aGrant().text()),
          'tokens.purser.dev/credential-id': 'jti-1772366400',
        },
        ownerReferences: [
          {
            apiVersion: 'tokens.purser.dev/v1alpha1',
            kind: 'ManagedToken',
            name: 'ci',
            uid: 'b6b2c7a0-6a53-4b8e-9a3f-0c9d5a1f2e01',
            controller: true,
            blockOwnerDeletion: false,
          },
        ],
      },
    });
    expect(Buffer.from(data?.['token'] ?? '', 'base64').toString()).toBe(aGrant().text());
  });

  it('uses the Secret name in the spec', () => {
    expect(written(aToken().writing({ name: 'token-of-ci' })).metadata.name).toBe('token-of-ci');
  });

  it('sets the type Opaque for a Secret of another type', () => {
    const existing = { ...withOwn({}), type: 'kubernetes.io/service-account-token' };
    expect(written(aToken(), aGrant(), existing).type).toBe('Opaque');
  });

  it('ignores labels and annotations under reserved prefixes', () => {
    const reserved = {
      'argocd.argoproj.io/secret-type': 'cluster',
      'a.kubernetes.io/b': 'x',
      'k8s.io/c': 'x',
      'tokens.purser.dev/managed-by': 'me',
    };
    const { labels, annotations } = written(aToken().writing({ labels: { ...reserved, team: 'a' }, annotations: reserved })).metadata;
    expect(labels).toEqual({ team: 'a', 'tokens.purser.dev/managed-by': 'purser' });
    expect(Object.keys(annotations ?? {}).filter((key) => !key.startsWith('tokens.purser.dev/'))).toEqual([]);
  });

  it('sets the label of Argo CD for the ArgoCD output only', () => {
    const argo = written(aToken().writing({ outputs: ['ArgoCD'] }));
    expect(argo.metadata.labels?.[ARGO_LABEL]).toBe('cluster');
    expect(written(aToken(), aGrant(), stored(argo)).metadata.labels).not.toHaveProperty([ARGO_LABEL]);
  });

  it('keeps labels, annotations, finalizers and owners of other managers', () => {
    const existing = withOwn({
      uid: 'secret-uid',
      resourceVersion: '7',
      finalizers: ['example.com/hold'],
      labels: { 'velero.io/backup': 'no' },
      annotations: { 'kubed.io/sync': 'yes' },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x' }],
    });
    expect(written(aToken(), aGrant(), existing).metadata).toMatchObject({
      uid: 'secret-uid',
      resourceVersion: '7',
      finalizers: ['example.com/hold'],
      labels: { 'velero.io/backup': 'no' },
      annotations: { 'kubed.io/sync': 'yes' },
      ownerReferences: [{ kind: 'ConfigMap' }, { kind: 'ManagedToken' }],
    });
  });

  it('drops labels and annotations that the spec no longer has', () => {
    const before = stored(written(aToken().writing({ labels: { team: 'a', tier: 'ci' }, annotations: { note: 'x' } })));
    const { labels, annotations } = written(aToken().writing({ labels: { tier: 'cd' } }), aGrant(), before).metadata;
    expect(labels).toEqual({ tier: 'cd', 'tokens.purser.dev/managed-by': 'purser' });
    expect(annotations).not.toHaveProperty('note');
  });

  it.each(['', '{', '7', 'null', '{"labels":7,"annotations":[1]}'])('ignores a template annotation of %p', (text) => {
    const existing = withOwn({ annotations: { [Annotation.template]: text } });
    expect(written(aToken(), aGrant(), existing).metadata.labels).toEqual({ 'tokens.purser.dev/managed-by': 'purser' });
  });

  it('records the number of rotations and the handled request', () => {
    const second = stored(written(aToken().annotated(Annotation.rotate, '1'), aGrant().sentAt(at('12:10:00')), stored(written(aToken()))));
    expect(parseRecord(second.metadata.annotations)).toMatchObject({ rotations: 1, rotateRequest: '1' });
  });

  it('sets no reserved name from the spec, and holds the token in its data only', () => {
    const names = fc.oneof(
      fc.constantFrom(
        'kubernetes.io/a',
        'x.k8s.io/a',
        'ARGOCD.argoproj.io/a',
        'registry.purser.dev/a',
        '__proto__',
        'constructor',
        'a',
        'b.example.com/c',
      ),
      fc.string(),
    );
    const template = fc.dictionary(names, fc.string(), { maxKeys: 8 });
    fc.assert(
      fc.property(
        template,
        template,
        fc.subarray(['Token', 'Kubeconfig', 'ArgoCD'] as const, { minLength: 1 }),
        (labels, annotations, outputs) => {
          const { data, ...secret } = written(aToken().writing({ labels, annotations, outputs }));
          expect(JSON.stringify(secret)).not.toContain(aGrant().text());
          expect(data).toHaveProperty('token');
          const keys = [...Object.keys(secret.metadata.labels ?? {}), ...Object.keys(secret.metadata.annotations ?? {})];
          const ours = new Set<string>([...Object.values(Annotation), ...Object.values(Label), ARGO_LABEL]);
          expect(keys.filter((key) => isReserved(key) && !ours.has(key))).toEqual([]);
        },
      ),
    );
  });
});

describe('desiredSecret with labelsFromCluster', () => {
  const copying = (...labelsFromCluster: readonly string[]) => aToken().writing({ outputs: ['ArgoCD'], argocd: { labelsFromCluster } });
  const labeled = (labels: Readonly<Record<string, string>>) => ({ ...aCluster(), metadata: { ...aCluster().metadata, labels } });

  it('drops a copied label that the Cluster or the spec no longer has, and keeps labels of other managers', () => {
    const first = stored(
      writtenSecret(
        { token: copying('env', 'region').build(), cluster: labeled({ env: 'prod', region: 'eu' }), secret: undefined },
        aGrant(),
      ),
    );
    const { metadata, ...rest } = first;
    const existing = { ...rest, metadata: { ...metadata, labels: { ...metadata.labels, foreign: 'x' } } };
    const second = writtenSecret({ token: copying('env').build(), cluster: labeled({ region: 'eu' }), secret: existing }, aGrant());
    expect(second.metadata.labels).toEqual({ foreign: 'x', [ARGO_LABEL]: 'cluster', 'tokens.purser.dev/managed-by': 'purser' });
  });
});

describe('withoutToken and holdsToken', () => {
  const keys = [
    { key: 'bearer', from: 'Token' },
    { key: 'caBundle', from: 'CA' },
    { key: 'config', from: 'Kubeconfig' },
  ] as const;

  it('removes the token under any key, even under a key that the spec no longer has', () => {
    const secret = written(aToken().writing({ outputs: ['Token', 'Kubeconfig'], keys }));
    expect(Object.keys(withoutToken(secret).data ?? {}).sort()).toEqual(['ca.crt', 'namespace', 'server']);
    expect([holdsToken(secret), holdsToken(withoutToken(secret)), holdsToken({ data: { bearer: 'x' } })]).toEqual([true, false, true]);
  });
});

describe('toOutputsDigest', () => {
  it.each(['Token', 'Kubeconfig', 'ArgoCD'] as const)('differs between addresses for the output %s', (output) => {
    const token = aToken()
      .writing({ outputs: [output] })
      .build();
    const rendered = [SERVER, 'https://elsewhere.example.com'].map((server) =>
      toOutputsDigest(contentOf(token, aCluster(undefined, [server]))),
    );
    expect(new Set(rendered)).toHaveProperty('size', 2);
  });
});

describe('toDataDigest', () => {
  const data = { token: 'dG9r', server: 'aHR0cHM6Ly9h' };

  it('does not depend on the order of keys', () => {
    expect(toDataDigest(Object.fromEntries(Object.entries(data).reverse()))).toBe(toDataDigest(data));
  });

  it.each([
    ['a key is missing', { token: 'dG9r' }],
    ['a key is added', { ...data, note: 'eA==' }],
    ['a value is changed', { ...data, server: 'aHR0cHM6Ly9i' }],
    ['the token is changed', { ...data, token: 'dG9rMg==' }],
  ])('differs when %s', (_, changed) => expect(toDataDigest(changed)).not.toBe(toDataDigest(data)));
});

describe('withoutToken', () => {
  it('removes the keys that contain the token in every output format, and keeps the other keys', () => {
    const secret = written(aToken().writing({ outputs: ['Token', 'Kubeconfig', 'ArgoCD'] }));
    const { data, metadata } = withoutToken(secret);
    expect(Object.keys(data ?? {}).sort()).toEqual(['ca.crt', 'name', 'namespace', 'server']);
    expect(metadata.annotations).not.toHaveProperty([Annotation.tokenDigest]);
    expect(metadata.annotations).toHaveProperty([Annotation.issuedFor]);
  });

  it('returns empty data for a Secret without data', () => {
    expect(withoutToken({ metadata: { namespace: 'team-a', name: 'x' } })).toMatchObject({ metadata: { name: 'x' }, data: {} });
  });
});

/** Returns a ManagedToken that was created in this second of a minute. */
function claimant(second: number, deletionTimestamp?: string) {
  const creationTimestamp = `2026-03-01T12:00:${String(second).padStart(2, '0')}Z`;
  return aToken()
    .withMetadata({ name: `t-${second}`, uid: `uid-${second}`, creationTimestamp, ...(deletionTimestamp && { deletionTimestamp }) })
    .build();
}

describe('earlierClaimant', () => {
  it('returns the first claimant if it is older than the ManagedToken', () => {
    expect(earlierClaimant(claimant(9), claimant(3))).toBe('t-3');
  });

  it('returns undefined for the first claimant, for an older ManagedToken that is being deleted, and without claimants', () => {
    const deleted = claimant(1, '2026-03-01T13:00:00Z');
    expect([claimant(3), deleted].map((token) => earlierClaimant(token, claimant(3)))).toEqual([undefined, undefined]);
    expect(earlierClaimant(deleted, undefined)).toBeUndefined();
  });
});
