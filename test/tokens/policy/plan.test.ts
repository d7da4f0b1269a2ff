import { describe, expect, it } from '@jest/globals';
import { AnchorFinalizer, Annotation } from '../../../src/api/names.ts';
import { computeDigest } from '../../../src/std/digest.ts';
import type { TokenLimits } from '../../../src/targets/policy/grant.ts';
import { planToken } from '../../../src/tokens/policy/plan.ts';
import { type StoredSecret, withoutToken } from '../../../src/tokens/policy/secret.ts';
import { evaluateToken, type TokenObservation } from '../../../src/tokens/policy/state.ts';
import {
  aCluster,
  aGrant,
  aScene,
  aToken,
  at,
  jwt,
  NOON,
  type SceneBuilder,
  SECRET_IDENTITY,
  SERVER,
  stored,
  type TokenBuilder,
  writtenSecret,
} from '../../support/builders.ts';

const HELD = aScene().holding(aGrant());
/** A fifth of the hour is left at 12:48; the jitter of this UID is 82 seconds. */
const RENEW_AT = at('12:46:38');

function planFor(observation: TokenObservation, now: number, limits?: TokenLimits) {
  return planToken(evaluateToken(observation, now), limits);
}

describe('planToken for a valid token', () => {
  it('waits until the renewal is due', () => {
    expect(planFor(HELD.build(), at('12:20:00'))).toEqual({ type: 'wait', until: RENEW_AT });
  });

  it('waits for the next verification if it is due before the renewal', () => {
    expect(planFor(HELD.with({ verifyAt: at('12:30:00') }).build(), at('12:20:00'))).toEqual({ type: 'wait', until: at('12:30:00') });
  });

  it('verifies the token when verification is due', () => {
    expect(planFor(HELD.with({ verifyAt: at('12:20:00') }).build(), at('12:20:00'))).toEqual({ type: 'verify' });
  });

  it('waits after the target accepted the token', () => {
    const verdict = { tokenDigest: computeDigest(aGrant().text()), accepted: true };
    expect(planFor(HELD.with({ verdict }).build(), at('12:20:00')).type).toBe('wait');
  });

  it('accepts an address of the Cluster without a scheme', () => {
    const scene = aScene(aToken().writing({ server: SERVER.slice('https://'.length) })).holding(aGrant());
    expect(planFor(scene.build(), NOON).type).toBe('wait');
  });

  it.each([
    ['90 days', '2160h'],
    ['a year', '8760h'],
    ['2³² seconds', 2 ** 32 * 1000],
  ])('reconciles a token that lives for %s within a day', (_, lifetime) => {
    const scene = aScene().holding(aGrant().expiringIn(lifetime));
    expect(planFor(scene.build(), NOON)).toEqual({ type: 'wait', until: Date.parse('2026-03-02T12:00:00Z') });
  });

  it('renews a 600-second token at least two minutes before its expiry', () => {
    const scene = aScene().holding(aGrant().expiringIn('10m'));
    const plan = planFor(scene.build(), NOON);
    expect(plan).toEqual({ type: 'wait', until: at('12:07:46') });
  });
});

describe('planToken', () => {
  it.each([
    ['without a Secret', aScene(), 'SecretMissing', false],
    ['for a ManagedToken from a backup, whatever its status', backup(), 'SecretMissing', false],
    ['when the key token is missing', HELD.with({ secret: withoutKeyToken() }), 'TokenMissing', false],
    ['when the token is edited to another text', edited('invalid'), 'TokenAltered', true],
    ['when the token is edited to another JWT', edited(jwt({ sub: 'system:serviceaccount:kube-system:admin' })), 'TokenAltered', true],
    ['for a foreign Secret with a forged owner reference and a record that matches its token', forged(), 'TokenAltered', true],
    ['for a foreign Secret with a forged owner reference and no record', bare(), 'TokenAltered', false],
    ['when the record is damaged', HELD.annotated({ [Annotation.issuedFor]: '{"cluster":7}' }), 'TokenAltered', false],
    ['when the record has no digest', HELD.annotated({ [Annotation.tokenDigest]: undefined }), 'TokenAltered', true],
    ['when the record names another service account of the same name', ofAnotherAccount(), 'TokenAltered', true],
    ['when the service account changes', changed({ serviceAccount: { namespace: 'deploy', name: 'other' } }), 'SpecChanged', true],
    [
      'when the service account becomes a privileged one',
      changed({ serviceAccount: { namespace: 'kube-system', name: 'admin' } }),
      'SpecChanged',
      true,
    ],
    ['when the audiences change', changed({ audiences: ['https://kubernetes.default.svc', 'vault'] }), 'SpecChanged', true],
    ['when the cluster changes', changed({ clusterName: 'prod-us' }), 'SpecChanged', true],
    ['when boundObjectRef is set', changed({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } }), 'SpecChanged', true],
    ['when revocation becomes BoundSecret', changed({ revocation: 'BoundSecret' }), 'SpecChanged', true],
    [
      'when the Cluster was re-created, and keeps the token in the meantime',
      HELD.with({ cluster: aCluster('another-uid') }),
      'ClusterReplaced',
      false,
    ],
    ['when the target rejected the token', rejected(aGrant().text()), 'TokenRejected', false],
    [
      'when the rotate annotation has a new value',
      HELD.changing((token) => token.annotated(Annotation.rotate, '1')),
      'RotationRequested',
      false,
    ],
  ])('issues a token %s', (_, scene, reason, mustDropOld) => {
    expect(planFor(scene.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason, mustDropOld });
  });

  it.each([
    ['one second before the time', '12:46:37', 'wait'],
    ['at the time', '12:46:38', 'issue'],
    ['long after the time', '12:59:59', 'issue'],
  ])('plans to wait or to issue a token %s of renewal', (_, time, type) => {
    expect(planFor(HELD.build(), at(time))).toMatchObject({ type });
  });

  it('sets the expected UID of the service account only for a renewal or a requested rotation', () => {
    const accountUID = '9d6a0f52-0000-4000-8000-00000000000a';
    expect(planFor(HELD.build(), RENEW_AT)).toMatchObject({ reason: 'RotationDue', accountUID, mustDropOld: false });
    expect(planFor(HELD.changing((token) => token.annotated(Annotation.rotate, '1')).build(), RENEW_AT)).toMatchObject({ accountUID });
    expect(planFor(rejected(aGrant().text()).build(), at('12:20:00'))).not.toHaveProperty('accountUID');
  });

  it('issues a new token and drops the old one if the old one has expired', () => {
    expect(planFor(HELD.build(), at('13:00:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue', mustDropOld: true });
  });

  it('issues a token with the reason RotationDue after the expired token was removed', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    expect(planFor(HELD.with({ secret }).build(), at('13:10:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('issues one token for each value of the annotation rotate', () => {
    const requested = aScene(aToken().annotated(Annotation.rotate, 'monday')).holding(aGrant());
    expect(planFor(requested.build(), at('12:20:00')).type).toBe('wait');
    expect(planFor(requested.changing((token) => token.annotated(Annotation.rotate, 'tuesday')).build(), at('12:20:00')).type).toBe(
      'issue',
    );
  });

  it('issues no token for another order of audiences', () => {
    const scene = aScene(aToken().with({ audiences: ['a', 'b'] })).holding(aGrant().claiming({ aud: ['a', 'b'] }));
    expect(planFor(scene.changing((token) => token.with({ audiences: ['b', 'a'] })).build(), at('12:20:00')).type).toBe('wait');
  });

  it('issues no token if the target rejected a token other than the current one', () => {
    expect(planFor(rejected('another token').build(), at('12:20:00')).type).toBe('wait');
  });

  it('issues no token for a change to expirationSeconds', () => {
    expect(planFor(changed({ expirationSeconds: 86_400 }).build(), at('12:20:00')).type).toBe('wait');
  });

  it.each([
    ['creates a missing Secret', aScene(), 'create'],
    ['updates an existing Secret', HELD.changing((token) => token.annotated(Annotation.rotate, '1')), 'update'],
    ['replaces an immutable Secret', immutable().changing((token) => token.annotated(Annotation.rotate, '1')), 'replace'],
  ])('issues a token and %s', (_, scene, write) => {
    expect(planFor(scene.build(), at('12:20:00'))).toMatchObject({ type: 'issue', write });
  });
});

describe('planToken and the granted lifetime', () => {
  it('renews a token by its granted lifetime of an hour when a week was requested', () => {
    const scene = aScene(aToken().with({ expirationSeconds: 604_800 })).holding(aGrant());
    expect(planFor(scene.build(), NOON)).toEqual({ type: 'wait', until: RENEW_AT });
  });

  it('renews a token by the expiry in the response when the token itself lives for a year', () => {
    const exp = NOON / 1000 + 31_536_000;
    const scene = aScene().holding(aGrant().expiringIn('3607s').claiming({ exp }));
    expect(planFor(scene.build(), NOON)).toMatchObject({ type: 'wait', until: at('12:46:43') });
  });

  it('renews a token by the expiry in the token when the status claims a year', () => {
    const scene = HELD.changing((token) =>
      token.withStatus({ expirationTimestamp: '2027-03-01T12:00:00Z', nextRotationTime: '2027-02-01T12:00:00Z' }),
    );
    expect(planFor(scene.build(), RENEW_AT)).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('repairs an edited expiry on the Secret', () => {
    const scene = HELD.annotated({ [Annotation.expiresAt]: '2027-03-01T12:00:00Z' });
    expect(planFor(scene.build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'update' });
    expect(planFor(scene.build(), RENEW_AT)).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it.each([
    ["five minutes ahead of the target's", -300],
    ["five minutes behind the target's", 300],
    ["two hours ahead of the target's", -7200],
  ])("waits until the usual renewal time when Purser's clock is %s", (_, seconds) => {
    const iat = NOON / 1000 + seconds;
    const scene = aScene().holding(aGrant().claiming({ iat, nbf: iat, exp: iat + 3600 }));
    expect(planFor(scene.build(), NOON)).toEqual({ type: 'wait', until: RENEW_AT });
  });

  it('renews once after the clock jumps an hour ahead', () => {
    expect(planFor(HELD.build(), at('13:05:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue' });
    const renewed = HELD.holding(aGrant().sentAt(at('13:05:00')));
    expect(planFor(renewed.build(), at('13:05:01'))).toEqual({ type: 'wait', until: at('13:51:38') });
  });

  it('uses the claims of the token after a clock that was an hour ahead is corrected', () => {
    const iat = NOON / 1000;
    const scene = aScene().holding(
      aGrant()
        .sentAt(at('13:00:00'))
        .claiming({ iat, nbf: iat, exp: iat + 3600 }),
    );
    expect(planFor(scene.build(), at('12:10:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'update' });
    expect(planFor(scene.build(), RENEW_AT)).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('renews once after the clock falls an hour behind', () => {
    expect(planFor(HELD.build(), at('11:05:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue', mustDropOld: false });
    const renewed = HELD.holding(aGrant().sentAt(at('11:05:00')));
    expect(planFor(renewed.build(), at('11:05:01'))).toEqual({ type: 'wait', until: at('11:51:38') });
  });
});

describe('planToken between issuances', () => {
  it('waits ten seconds while the spec changes constantly, and removes the old token immediately', () => {
    const scene = changed({ audiences: ['another'] });
    expect(planFor(scene.build(), at('12:00:09'))).toEqual({ type: 'hold', mustStrip: true, until: at('12:00:10') });
    expect(planFor(scene.build(), at('12:00:10'))).toMatchObject({ type: 'issue', reason: 'SpecChanged' });
  });

  it('waits ten seconds after the old token is removed', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    const scene = HELD.with({ secret }).changing((token) => token.with({ audiences: ['another'] }));
    expect(planFor(scene.build(), at('12:00:05'))).toEqual({ type: 'hold', mustStrip: false, until: at('12:00:10') });
  });

  it('waits two seconds after an issuance before it issues a token for a request', () => {
    const scene = HELD.changing((token) => token.annotated(Annotation.rotate, '1'));
    expect(planFor(scene.build(), at('12:00:01'))).toEqual({ type: 'hold', mustStrip: false, until: at('12:00:02') });
    expect(planFor(scene.build(), at('12:00:02'))).toMatchObject({ type: 'issue' });
  });

  it('waits after an issuance that only the status records', () => {
    const scene = aScene(aToken().withStatus({ issuedAt: '2026-03-01T12:00:00Z' }));
    expect(planFor(scene.build(), at('12:00:01'))).toEqual({ type: 'hold', mustStrip: false, until: at('12:00:02') });
  });

  it('waits after an issuance whose token was never written', () => {
    const scene = aScene().with({ lastIssuedAt: NOON });
    expect(planFor(scene.build(), at('12:00:01'))).toEqual({ type: 'hold', mustStrip: false, until: at('12:00:02') });
  });

  it('waits 30 seconds after a token that was granted for only a few seconds', () => {
    const scene = aScene().holding(aGrant().expiringIn('5s'));
    expect(planFor(scene.build(), at('12:00:10'))).toEqual({ type: 'hold', mustStrip: true, until: at('12:00:30') });
    expect(planFor(scene.build(), at('12:00:30'))).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('ignores a time of issuance in the future', () => {
    const scene = aScene(aToken().withStatus({ issuedAt: '9999-03-01T12:00:00Z' }));
    expect(planFor(scene.build(), NOON)).toMatchObject({ type: 'issue' });
  });
});

describe('planToken for a Secret that differs', () => {
  it.each([
    ['when outputs are added', HELD.changing((token) => token.writing({ outputs: ['Token', 'Kubeconfig'] }))],
    ['when the form changes', HELD.changing((token) => token.writing({ outputs: ['ArgoCD'] }))],
    ['when labels change', HELD.changing((token) => token.writing({ labels: { team: 'a' } }))],
    ['when annotations change', HELD.changing((token) => token.writing({ annotations: { note: 'x' } }))],
    ['when the address of the cluster changes', HELD.with({ outputsDigest: computeDigest('another address') })],
    ['when renewBefore changes', HELD.changing((token) => token.renewedBefore('30m'))],
    ['when the status records an earlier write', HELD.with({ writtenDigest: computeDigest('an earlier write') })],
    ['when another client edits or adds a key', HELD.with({ secret: { ...secretOfHeld(), dataDigest: computeDigest('edited') } })],
    ["when Purser's label is missing", HELD.with({ secret: { ...secretOfHeld(), metadata: { ...secretOfHeld().metadata, labels: {} } } })],
  ])('rewrites the Secret without a new token %s', (_, scene) => {
    expect(planFor(scene.build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'update' });
  });

  it('replaces an immutable Secret', () => {
    expect(planFor(immutable().build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'replace' });
  });

  it('replaces a Secret of another type', () => {
    const secret = { ...secretOfHeld(), type: 'kubernetes.io/service-account-token' };
    expect(planFor(HELD.with({ secret }).build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'replace' });
  });

  it('writes the token to the Secret of a new name, then removes the old Secret', () => {
    const renamed = HELD.changing((token) => token.writing({ name: 'ci-token' })).with({ secret: undefined, former: [secretOfHeld()] });
    expect(planFor(renamed.build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'create' });
    const moved = renamed.holding(aGrant());
    expect(planFor(moved.build(), at('12:20:00'))).toEqual({ type: 'remove', secrets: ['ci'] });
    expect(planFor(moved.with({ former: [] }).build(), at('12:20:00')).type).toBe('wait');
  });

  it('keeps a Secret that another client labeled', () => {
    const { metadata, ...secret } = secretOfHeld();
    const labeled = { ...secret, metadata: { ...metadata, labels: { ...metadata.labels, 'velero.io/backup': 'no' } } };
    expect(planFor(HELD.with({ secret: labeled }).build(), at('12:20:00')).type).toBe('wait');
  });
});

describe('planToken with a Cluster that its credential does not cover', () => {
  const unwritable = { reason: 'EndpointNotPinned', message: 'not pinned' } as const;
  const evil = { cluster: aCluster('another', ['https://evil.example.com']), unwritable };

  it('keeps the Secret and reports the cause until the renewal is due', () => {
    const scene = HELD.with({ ...evil, verifyAt: NOON });
    const plan = planFor(scene.build(), at('12:20:00'));
    expect(plan).toMatchObject({ type: 'hold', mustStrip: false, failure: unwritable });
    expect(plan.type === 'hold' && plan.until).toBeLessThanOrEqual(at('12:48:00'));
  });

  it('issues a token when the renewal is due, and keeps the old token if the issuance fails', () => {
    expect(planFor(HELD.with(evil).build(), at('12:50:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue', mustDropOld: false });
  });

  it('drops an expired token', () => {
    expect(planFor(HELD.with(evil).build(), at('13:00:00'))).toMatchObject({ type: 'issue', mustDropOld: true });
  });
});

describe('planToken with a Cluster that refers to another credential', () => {
  const controller = { kind: 'Secret', namespace: 'purser-system', name: 'other' } as const;
  const { spec, ...rest } = aCluster();
  const cluster = { ...rest, spec: { ...spec, authInfo: { controller } } };

  it('reissues the token before it writes other addresses, and keeps the old token until then', () => {
    const scene = HELD.with({ cluster, outputsDigest: computeDigest('another address') });
    expect(planFor(scene.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'CredentialReplaced', mustDropOld: false });
    expect(planFor(scene.with({ lastIssuedAt: at('12:19:59') }).build(), at('12:20:00'))).toMatchObject({ type: 'hold', mustStrip: false });
  });
});

describe('planToken that returns a hold plan', () => {
  it.each([
    ['no object', undefined],
    ['another ManagedToken', 'another-uid'],
  ])('does not write a Secret that belongs to %s', (_, uid) => {
    const owner = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'other', controller: true };
    const metadata = { ...SECRET_IDENTITY, namespace: 'team-a', ...(uid && { ownerReferences: [{ ...owner, uid }] }) };
    const plan = planFor(HELD.with({ secret: { ...secretOfHeld(), metadata } }).build(), at('12:20:00'));
    expect(plan).toMatchObject({ type: 'hold', failure: { reason: 'SecretConflict' }, mustStrip: false });
    expect(plan).not.toHaveProperty('until');
  });

  it.each([
    ['keeps a valid token until its expiry', {}, '12:50:00', { mustStrip: false, until: at('13:00:00') }],
    ['removes an expired token', {}, '13:00:00', { mustStrip: true }],
    ['removes the token for another spec', { audiences: ['vault'] }, '12:50:00', { mustStrip: true }],
  ])('%s in the former Secret while another object owns the Secret of the new name', (_, spec, time, held) => {
    const scene = ontoForeign((token) => token.with(spec));
    const plan = planFor(scene.build(), at(time));
    expect(plan).toMatchObject({ type: 'hold', failure: { reason: 'SecretConflict' }, ...held });
  });

  it('revokes the token in the former Secret even if another object owns the Secret of the new name', () => {
    const anchors = [{ cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer', clusterUID: 'cluster-uid', credential: '' }];
    const scene = ontoForeign((token) =>
      token.with({ revocation: 'BoundSecret' }).withStatus({ anchors }).annotated(Annotation.revoke, 'leaked'),
    );
    expect(planFor(scene.build(), at('12:20:00'))).toEqual({ type: 'revoke', request: 'leaked', secrets: ['ci'] });
  });

  it('does not write a Secret that another controller owns', () => {
    const { metadata, ...secret } = secretOfHeld();
    const others = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x', controller: true };
    const ownerReferences = [others, ...(metadata.ownerReferences ?? []).map((owner) => ({ ...owner, controller: false }))];
    const scene = HELD.with({ secret: { ...secret, metadata: { ...metadata, ownerReferences } } });
    expect(planFor(scene.build(), at('12:20:00'))).toMatchObject({ failure: { reason: 'SecretConflict' } });
  });

  it.each([
    ['keeps a valid token until its expiry', HELD, '12:50:00', { mustStrip: false, until: at('13:00:00') }],
    ['removes an expired token', HELD, '13:00:00', { mustStrip: true }],
    ['removes the token of another cluster', changed({ clusterName: 'prod-us' }), '12:50:00', { mustStrip: true }],
    ['removes nothing without a Secret', aScene(), '12:50:00', { mustStrip: false }],
  ])('waits if the Cluster does not exist, and %s', (_, scene, time, held) => {
    const plan = planFor(scene.with({ cluster: undefined }).build(), at(time));
    expect(plan).toMatchObject({ type: 'hold', failure: { reason: 'ClusterNotFound' }, ...held });
  });

  it.each([
    ['keeps a valid token until its expiry', HELD, '12:50:00', { mustStrip: false, until: at('13:00:00') }],
    ['removes an expired token', HELD, '13:00:00', { mustStrip: true }],
    ['repairs nothing', edited('invalid'), '12:50:00', { mustStrip: false, until: at('13:00:00') }],
    ['issues nothing', aScene(), '12:50:00', { mustStrip: false }],
    ['ignores a missing Cluster', HELD.with({ cluster: undefined }), '12:50:00', { mustStrip: false, until: at('13:00:00') }],
  ])('waits while suspended, and %s', (_, scene, time, held) => {
    const plan = planFor(scene.changing((token) => token.suspended()).build(), at(time));
    expect(plan).toEqual({ type: 'hold', ...held });
  });

  const KEPT = { type: 'hold', mustStrip: false, until: at('13:00:00') };
  const REMOVED = { type: 'remove', secrets: ['former'] };
  const LATER = aScene().holding(aGrant().sentAt(at('12:30:00')));
  const renamed = { ...secretOfHeld(), metadata: { ...secretOfHeld().metadata, name: 'former' } };
  it.each([
    ['keeps a former Secret with a valid token', HELD.with({ former: [renamed] }), '12:50:00', KEPT],
    ['keeps a former Secret without a token', HELD.with({ former: [withoutKeyToken(renamed)] }), '12:50:00', KEPT],
    ['deletes a former Secret with an expired token', LATER.with({ former: [renamed] }), '13:10:00', REMOVED],
    ['deletes a former Secret with an altered token', HELD.with({ former: [{ ...renamed, tokenDigest: 'x' }] }), '12:50:00', REMOVED],
    ['deletes a former Secret with a token without a record', HELD.with({ former: [withoutRecord(renamed)] }), '12:50:00', REMOVED],
    ['deletes a former Secret with a token for another spec', forViewer().with({ former: [renamed] }), '12:50:00', REMOVED],
  ])('waits while suspended, and %s', (_, scene, time, plan) => {
    expect(planFor(scene.changing((token) => token.suspended()).build(), at(time))).toEqual(plan);
  });

  it.each([
    ['599 seconds', { expirationSeconds: 599 }],
    ['2³²+1 seconds', { expirationSeconds: 2 ** 32 + 1 }],
    ['-1 seconds', { expirationSeconds: -1 }],
  ])('waits if the spec has %s, and keeps the current token', (_, spec) => {
    expect(planFor(changed(spec).build(), at('12:50:00'))).toMatchObject({ failure: { reason: 'InvalidSpec' }, mustStrip: false });
  });

  it('waits if the settings do not allow the audiences', () => {
    expect(planFor(aScene().build(), NOON, { allowedAudiences: ['vault'] })).toMatchObject({ failure: { reason: 'InvalidSpec' } });
  });
});

describe('planToken with revocation BoundSecret', () => {
  const HERE = { cluster: 'prod-eu', namespace: 'deploy', serviceAccount: 'deployer', clusterUID: 'cluster-uid', credential: '' };
  const token = aToken()
    .with({ revocation: 'BoundSecret' })
    .withMetadata({ finalizers: [AnchorFinalizer] })
    .withStatus({ anchors: [HERE] });
  const kubernetes = { serviceaccount: { uid: '9d6a0f52-0000-4000-8000-00000000000a' }, secret: { name: 'purser-x', uid: 'anchor-uid' } };
  const grant = aGrant().claiming({ 'kubernetes.io': kubernetes });
  const bound = aScene(token).holding(grant);
  const requested = bound.changing((each) => each.annotated(Annotation.revoke, 'leak'));

  it('waits while no revocation is requested', () => {
    expect(planFor(bound.build(), at('12:20:00')).type).toBe('wait');
  });

  it.each([
    ['the annotation has a new value', requested],
    ['rotation is suspended', requested.changing((each) => each.suspended())],
    ['the Cluster is missing', requested.with({ cluster: undefined })],
  ])('revokes the token when %s', (_, scene) => {
    expect(planFor(scene.build(), at('12:20:00'))).toEqual({ type: 'revoke', request: 'leak', secrets: ['ci'] });
  });

  it('issues a token after a revocation, even if the status could not be written', () => {
    const revoked = requested.with({ secret: undefined, revoked: 'leak' });
    expect(planFor(revoked.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'SecretMissing' });
  });

  it('revokes a token if the record in the Secret claims the revocation, but the status does not record it', () => {
    const claimed = requested.with({ secret: undefined }).holding(grant);
    expect(planFor(claimed.build(), at('12:20:00')).type).toBe('revoke');
    const done = claimed.changing((each) => each.withStatus({ anchors: [HERE], lastRevokeRequest: 'leak' }));
    expect(planFor(done.build(), at('12:20:00')).type).toBe('wait');
  });

  it.each([
    ['no Secret has the name in the spec', requested],
    [
      'another object owns the Secret',
      requested.with({ secret: { ...secretOfHeld(), metadata: { ...SECRET_IDENTITY, namespace: 'team-a' } } }),
    ],
    ['the spec is invalid', requested.changing((each) => each.with({ audiences: [] }))],
    ['the Cluster is missing', requested.with({ cluster: undefined })],
  ])('revokes the token of a ManagedToken that owns no Secret: %s', (_, scene) => {
    const { secret, ...observation } = scene.build();
    const foreign = secret?.metadata.ownerReferences === undefined ? secret : undefined;
    expect(planFor({ ...observation, secret: foreign }, at('12:20:00'))).toEqual({ type: 'revoke', request: 'leak', secrets: [] });
  });

  it('issues a token with a new anchor for a request to revoke before there is an anchor', () => {
    const fresh = aScene(aToken().with({ revocation: 'BoundSecret' }).annotated(Annotation.revoke, 'leak'));
    expect(planFor(fresh.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'RevocationRequested', needsNewAnchor: true });
  });

  it('plans an issuance instead of a revocation for a token that was never bound', () => {
    const unbound = aScene(aToken()).holding(aGrant());
    const turned = unbound.changing((each) => each.with({ revocation: 'BoundSecret' }).annotated(Annotation.revoke, 'leak'));
    expect(planFor(turned.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'SpecChanged' });
  });

  it('revokes a bound token whose anchor is not listed by issuing the next token immediately', () => {
    const unlisted = requested.changing((each) => each.withStatus({}));
    expect(planFor(unlisted.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'RevocationRequested', needsNewAnchor: true });
  });

  describe('planToken after a change of cluster or service account', () => {
    const former = [
      { cluster: 'prod-us', namespace: 'deploy', serviceAccount: 'deployer', clusterUID: 'cluster-uid', credential: '' },
      { cluster: 'prod-eu', namespace: 'other', serviceAccount: 'deployer', clusterUID: 'cluster-uid', credential: '' },
    ];
    const moved = bound.changing((each) => each.withStatus({ anchors: [HERE, ...former] }));

    it('deletes former anchors once the Secret holds a token bound to the current anchor', () => {
      expect(planFor(moved.build(), at('12:20:00'))).toEqual({ type: 'prune', entries: former });
      expect(planFor(moved.with({ secret: undefined }).build(), at('12:20:00')).type).toBe('issue');
    });

    it('deletes the anchor of another service account at the location of the current token', () => {
      const other = { ...HERE, serviceAccount: 'another' };
      const scene = bound.changing((each) => each.withStatus({ anchors: [other] }));
      const suspended = scene.changing((each) => each.suspended());
      for (const each of [scene, suspended]) expect(planFor(each.build(), at('12:20:00'))).toEqual({ type: 'prune', entries: [other] });
    });

    it('waits before it retries the deletion of former anchors', () => {
      const tried = moved.with({ anchorsAt: at('12:21:00') }).build();
      expect(planFor(tried, at('12:20:00'))).toEqual({ type: 'wait', until: at('12:21:00') });
    });

    it('deletes former anchors before it issues a token if 16 anchors are listed, unless a recent deletion failed', () => {
      const anchors = Array.from({ length: 16 }, (_, index) => ({
        cluster: 'prod-us',
        namespace: `ns-${index}`,
        serviceAccount: 'deployer',
        clusterUID: 'cluster-uid',
        credential: '',
      }));
      const full = bound.changing((each) => each.withStatus({ anchors }));
      expect(planFor(full.build(), at('12:20:00'))).toEqual({ type: 'prune', entries: anchors });
      expect(planFor(full.with({ secret: undefined, anchorsAt: at('12:21:00') }).build(), at('12:20:00')).type).toBe('issue');
    });
  });

  it('issues no token after a revocation while suspended', () => {
    const off = requested.with({ secret: undefined }).changing((each) => each.suspended().withStatus({ lastRevokeRequest: 'leak' }));
    expect(planFor(off.build(), at('12:20:00'))).toEqual({ type: 'hold', mustStrip: false });
  });

  it('ignores the annotation revoke without BoundSecret', () => {
    expect(planFor(HELD.changing((each) => each.annotated(Annotation.revoke, 'leak')).build(), at('12:20:00')).type).toBe('wait');
  });

  it('deletes every anchor once tokens are no longer bound to one, then removes the finalizer', () => {
    const unbound = aScene(aToken().withMetadata({ finalizers: [AnchorFinalizer] })).holding(aGrant());
    const listed = unbound.changing((each) => each.withStatus({ anchors: [HERE] }));
    expect(planFor(listed.build(), at('12:20:00'))).toEqual({ type: 'prune', entries: [HERE] });
    expect(planFor(unbound.build(), at('12:20:00'))).toEqual({ type: 'release', anchor: 'none' });
  });

  it.each([
    ['deletes the anchor', bound, '12:20:00', 'delete'],
    ['gives up the anchor after ten minutes', bound, '12:30:00', 'orphaned'],
    [
      'sends nothing to a cluster for a finalizer without a listed anchor',
      bound.changing((each) => each.withStatus({})),
      '12:20:00',
      'none',
    ],
    [
      'deletes a listed anchor without the finalizer',
      bound.changing((each) => each.withMetadata({ finalizers: [] })),
      '12:20:00',
      'delete',
    ],
  ])('releases a ManagedToken that is being deleted: %s', (_, scene, time, anchor) => {
    const deleted = scene.changing((each) => each.withMetadata({ deletionTimestamp: '2026-03-01T12:20:00Z' }));
    expect(planFor(deleted.build(), at(time))).toEqual({ type: 'release', anchor });
  });

  it('ignores the expiry in a foreign Secret', () => {
    const metadata = { ...SECRET_IDENTITY, namespace: 'team-a', annotations: { ...secretOfHeld().metadata.annotations } };
    const deleted = bound.changing((each) => each.withMetadata({ deletionTimestamp: '2026-03-01T12:58:00Z' }));
    expect(planFor(deleted.with({ secret: { ...secretOfHeld(), metadata } }).build(), at('13:00:00'))).toEqual({
      type: 'release',
      anchor: 'delete',
    });
  });
});

describe('planToken for a ManagedToken that is being deleted', () => {
  const deleted = HELD.changing((token) =>
    token.withMetadata({ deletionTimestamp: '2026-03-01T12:00:00Z', finalizers: ['example.com/other'] }),
  );

  it('plans nothing without a Secret', () => {
    expect(planFor(deleted.with({ secret: undefined }).build(), at('12:59:00'))).toEqual({ type: 'none' });
  });

  it('keeps the token, without renewing it, until its expiry', () => {
    expect(planFor(deleted.build(), at('12:59:00'))).toEqual({ type: 'hold', mustStrip: false, until: at('13:00:00') });
  });

  it('removes an expired token from the Secret', () => {
    expect(planFor(deleted.build(), at('13:00:00'))).toMatchObject({ type: 'hold', mustStrip: true });
  });
});

function secretOfHeld() {
  return stored(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant()));
}

function backup() {
  const status = { issuedAt: '2026-02-01T12:00:00Z', expirationTimestamp: '2027-02-01T12:00:00Z', secretName: 'ci' };
  return aScene(aToken().withStatus(status));
}

function withoutRecord(secret: StoredSecret): StoredSecret {
  return { ...secret, metadata: { ...secret.metadata, annotations: {} } };
}

/** Returns a ManagedToken for another service account whose Secret holds a token for that service account. */
function forViewer(): SceneBuilder {
  const grant = aGrant().claiming({ sub: 'system:serviceaccount:deploy:viewer' });
  return aScene(aToken().with({ serviceAccount: { namespace: 'deploy', name: 'viewer' } })).holding(grant);
}

function withoutKeyToken(held = secretOfHeld()) {
  const { tokenDigest: _, claims: __, ...secret } = held;
  return secret;
}

function edited(text: string) {
  return HELD.with({ secret: { ...secretOfHeld(), tokenDigest: computeDigest(text) } });
}

/** Returns a foreign token with a record that matches it. */
function forged() {
  const theirs = aGrant().claiming({ sub: 'system:serviceaccount:evil:evil' });
  return aScene().holding(theirs);
}

function ofAnotherAccount() {
  const { [Annotation.issuedFor]: issuedFor = '' } = secretOfHeld().metadata.annotations ?? {};
  return HELD.annotated({ [Annotation.issuedFor]: JSON.stringify({ ...JSON.parse(issuedFor), accountUID: 'another' }) });
}

function bare() {
  const { metadata, ...secret } = secretOfHeld();
  return HELD.with({ secret: { ...secret, metadata: { ...metadata, annotations: {} } } });
}

function changed(spec: Parameters<ReturnType<typeof aToken>['with']>[0]) {
  return HELD.changing((token) => token.with(spec));
}

function rejected(text: string) {
  return HELD.with({ verdict: { tokenDigest: computeDigest(text), accepted: false } });
}

function immutable() {
  return HELD.with({ secret: { ...secretOfHeld(), immutable: true } });
}

/** Returns a ManagedToken whose new Secret name is that of a foreign Secret. */
function ontoForeign(change: (token: TokenBuilder) => TokenBuilder): SceneBuilder {
  const theirs = { ...secretOfHeld(), metadata: { ...SECRET_IDENTITY, namespace: 'team-a', name: 'theirs' } };
  const renamed = HELD.changing((token) => change(token.writing({ name: 'theirs' })));
  return renamed.with({ secret: theirs, former: [secretOfHeld()] });
}
