import { describe, expect, it } from '@jest/globals';
import { AnchorFinalizer, Annotation } from '../../../src/api/names.ts';
import { planToken } from '../../../src/tokens/policy/plan-token.ts';
import { withoutToken } from '../../../src/tokens/policy/secret.ts';
import {
  aCluster,
  aGrant,
  aScene,
  aToken,
  at,
  digestOf,
  jwt,
  NOON,
  type SceneBuilder,
  SERVER,
  stored,
  type TokenBuilder,
  writtenSecret,
} from '../../support/builders.ts';

const HELD = aScene().holding(aGrant());
/** Of the hour, a fifth is left at 12:48; this UID takes another 82 seconds. */
const RENEW_AT = at('12:46:38');

describe('planToken, while nothing is wrong', () => {
  it('waits for the renewal', () => {
    expect(planToken(HELD.build(), at('12:20:00'))).toEqual({ type: 'wait', until: RENEW_AT });
  });

  it('waits for the verification when that comes first', () => {
    expect(planToken(HELD.with({ verifyAt: at('12:30:00') }).build(), at('12:20:00'))).toEqual({ type: 'wait', until: at('12:30:00') });
  });

  it('verifies when it is time', () => {
    expect(planToken(HELD.with({ verifyAt: at('12:20:00') }).build(), at('12:20:00'))).toEqual({ type: 'verify' });
  });

  it('waits on after the target accepted the token', () => {
    const verdict = { tokenDigest: digestOf(aGrant().text()), accepted: true };
    expect(planToken(HELD.with({ verdict }).build(), at('12:20:00')).type).toBe('wait');
  });

  it('takes an address of the Cluster without its scheme for what it is', () => {
    const scene = aScene(aToken().writing({ server: SERVER.slice('https://'.length) })).holding(aGrant());
    expect(planToken(scene.build(), NOON).type).toBe('wait');
  });

  it.each([
    ['90 days', '2160h'],
    ['a year', '8760h'],
    ['2³² seconds', 2 ** 32 * 1000],
  ])('F43: looks again within a day at a token that lives for %s', (_, lifetime) => {
    const scene = aScene().holding(aGrant().expiringIn(lifetime));
    expect(planToken(scene.build(), NOON)).toEqual({ type: 'wait', until: Date.parse('2026-03-02T12:00:00Z') });
  });

  it('F44: renews a token of 600 seconds two minutes before its end at the latest', () => {
    const scene = aScene().holding(aGrant().expiringIn('10m'));
    const plan = planToken(scene.build(), NOON);
    expect(plan).toEqual({ type: 'wait', until: at('12:07:46') });
  });
});

describe('planToken issues', () => {
  it.each([
    ['without a Secret', aScene(), 'SecretMissing', false],
    ['M-22: for a ManagedToken from a backup, whatever its status says', backup(), 'SecretMissing', false],
    ['M-18: when the key token is gone', HELD.with({ secret: withoutKeyToken() }), 'TokenMissing', false],
    ['M-18: when the token is edited to another text', edited('invalid'), 'TokenAltered', true],
    [
      'M-18: when the token is edited to another JWT',
      edited(jwt({ sub: 'system:serviceaccount:kube-system:admin' })),
      'TokenAltered',
      true,
    ],
    ['M-17: for a Secret of others with our owner reference and a record that fits their token', forged(), 'TokenAltered', true],
    ['M-17: for a Secret of others with our owner reference and no record', bare(), 'TokenAltered', false],
    ['F20: when the record is damaged', HELD.annotated({ [Annotation.issuedFor]: '{"cluster":7}' }), 'TokenAltered', false],
    ['F20: when the record names no digest', HELD.annotated({ [Annotation.tokenDigest]: undefined }), 'TokenAltered', true],
    ['M-17: when the record names another account than the token, though of the same name', ofAnotherAccount(), 'TokenAltered', true],
    ['when the account changes', changed({ serviceAccount: { namespace: 'deploy', name: 'other' } }), 'SpecChanged', true],
    [
      'M-8: when the account becomes a privileged one',
      changed({ serviceAccount: { namespace: 'kube-system', name: 'admin' } }),
      'SpecChanged',
      true,
    ],
    ['M-21: when the audiences change', changed({ audiences: ['https://kubernetes.default.svc', 'vault'] }), 'SpecChanged', true],
    ['when the cluster changes', changed({ clusterName: 'prod-us' }), 'SpecChanged', true],
    [
      'when the token is to be bound to something',
      changed({ boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web-0' } }),
      'SpecChanged',
      true,
    ],
    ['when revocation is switched on', changed({ revocation: 'BoundSecret' }), 'SpecChanged', true],
    [
      'when the Cluster was re-created, and keeps the token meanwhile',
      HELD.with({ cluster: aCluster('another-uid') }),
      'ClusterReplaced',
      false,
    ],
    ['when the target refused the token', refused(aGrant().text()), 'TokenRefused', false],
    ['when somebody asks for it', HELD.changing((token) => token.annotated(Annotation.rotate, '1')), 'RotationRequested', false],
  ])('%s', (_, scene, reason, dropOld) => {
    expect(planToken(scene.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason, dropOld });
  });

  it.each([
    ['not a second too early', '12:46:37', 'wait'],
    ['when the time has come', '12:46:38', 'issue'],
    ['when it should have been long ago', '12:59:59', 'issue'],
  ])('for renewal %s', (_, time, type) => {
    expect(planToken(HELD.build(), at(time))).toMatchObject({ type });
  });

  it('names the account on renewals, and on nothing else', () => {
    const accountUID = '9d6a0f52-0000-4000-8000-00000000000a';
    expect(planToken(HELD.build(), RENEW_AT)).toMatchObject({ reason: 'RotationDue', accountUID, dropOld: false });
    expect(planToken(HELD.changing((token) => token.annotated(Annotation.rotate, '1')).build(), RENEW_AT)).toMatchObject({ accountUID });
    expect(planToken(refused(aGrant().text()).build(), at('12:20:00'))).not.toHaveProperty('accountUID');
  });

  it('for an expired token, which has to go even if there is no new one', () => {
    expect(planToken(HELD.build(), at('13:00:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue', dropOld: true });
  });

  it('with the same reason after the expired token was taken away', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    expect(planToken(HELD.with({ secret }).build(), at('13:10:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('once for each value of the annotation', () => {
    const asked = aScene(aToken().annotated(Annotation.rotate, 'monday')).holding(aGrant());
    expect(planToken(asked.build(), at('12:20:00')).type).toBe('wait');
    expect(planToken(asked.changing((token) => token.annotated(Annotation.rotate, 'tuesday')).build(), at('12:20:00')).type).toBe('issue');
  });

  it('nothing because of the order of audiences', () => {
    const scene = aScene(aToken().with({ audiences: ['a', 'b'] })).holding(aGrant().claiming({ aud: ['a', 'b'] }));
    expect(planToken(scene.changing((token) => token.with({ audiences: ['b', 'a'] })).build(), at('12:20:00')).type).toBe('wait');
  });

  it('nothing because of what the target said of another token', () => {
    expect(planToken(refused('another token').build(), at('12:20:00')).type).toBe('wait');
  });

  it('nothing because expirationSeconds changed', () => {
    expect(planToken(changed({ expirationSeconds: 86_400 }).build(), at('12:20:00')).type).toBe('wait');
  });

  it.each([
    ['creates the Secret when there is none', aScene(), 'create'],
    ['updates the one that there is', HELD.changing((token) => token.annotated(Annotation.rotate, '1')), 'update'],
    ['F20: replaces an immutable one', immutable().changing((token) => token.annotated(Annotation.rotate, '1')), 'replace'],
  ])('and %s', (_, scene, write) => {
    expect(planToken(scene.build(), at('12:20:00'))).toMatchObject({ type: 'issue', write });
  });
});

describe('planToken follows what was granted', () => {
  it('F25: renews by the hour that was granted when a week was asked for', () => {
    const scene = aScene(aToken().with({ expirationSeconds: 604_800 })).holding(aGrant());
    expect(planToken(scene.build(), NOON)).toEqual({ type: 'wait', until: RENEW_AT });
  });

  it('F26: renews by the answer when the token itself would live for a year', () => {
    const exp = NOON / 1000 + 31_536_000;
    const scene = aScene().holding(aGrant().expiringIn('3607s').claiming({ exp }));
    expect(planToken(scene.build(), NOON)).toMatchObject({ type: 'wait', until: at('12:46:43') });
  });

  it('M-7: renews by the token when a status claims a year', () => {
    const scene = HELD.changing((token) =>
      token.withStatus({ expirationTimestamp: '2027-03-01T12:00:00Z', nextRotationTime: '2027-02-01T12:00:00Z' }),
    );
    expect(planToken(scene.build(), RENEW_AT)).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('M-7: repairs an expiry that somebody wrote on the Secret', () => {
    const scene = HELD.annotated({ [Annotation.expiresAt]: '2027-03-01T12:00:00Z' });
    expect(planToken(scene.build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'update' });
    expect(planToken(scene.build(), RENEW_AT)).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it.each([
    ['five minutes ahead of the target', -300],
    ['five minutes behind the target', 300],
    ['two hours ahead of the target', -7200],
  ])('F27: waits for a share of the lifetime with a clock that is %s', (_, seconds) => {
    const iat = NOON / 1000 + seconds;
    const scene = aScene().holding(aGrant().claiming({ iat, nbf: iat, exp: iat + 3600 }));
    expect(planToken(scene.build(), NOON)).toEqual({ type: 'wait', until: RENEW_AT });
  });

  it('F28: renews once after the clock jumps an hour ahead', () => {
    expect(planToken(HELD.build(), at('13:05:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue' });
    const renewed = HELD.holding(aGrant().sentAt(at('13:05:00')));
    expect(planToken(renewed.build(), at('13:05:01'))).toEqual({ type: 'wait', until: at('13:51:38') });
  });

  it('F28: goes by the token after a clock that was an hour ahead is put right', () => {
    const iat = NOON / 1000;
    const scene = aScene().holding(
      aGrant()
        .sentAt(at('13:00:00'))
        .claiming({ iat, nbf: iat, exp: iat + 3600 }),
    );
    expect(planToken(scene.build(), at('12:10:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'update' });
    expect(planToken(scene.build(), RENEW_AT)).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('F28: renews once after the clock falls an hour behind', () => {
    expect(planToken(HELD.build(), at('11:05:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue', dropOld: false });
    const renewed = HELD.holding(aGrant().sentAt(at('11:05:00')));
    expect(planToken(renewed.build(), at('11:05:01'))).toEqual({ type: 'wait', until: at('11:51:38') });
  });
});

describe('planToken keeps a distance between issuances', () => {
  it('M-20: of ten seconds while the spec changes all the time, with the old token gone at once', () => {
    const scene = changed({ audiences: ['another'] });
    expect(planToken(scene.build(), at('12:00:09'))).toEqual({ type: 'hold', strip: true, until: at('12:00:10') });
    expect(planToken(scene.build(), at('12:00:10'))).toMatchObject({ type: 'issue', reason: 'SpecChanged' });
  });

  it('M-20: also after the old token is gone', () => {
    const secret = stored(withoutToken(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant())));
    const scene = HELD.with({ secret }).changing((token) => token.with({ audiences: ['another'] }));
    expect(planToken(scene.build(), at('12:00:05'))).toEqual({ type: 'hold', strip: false, until: at('12:00:10') });
  });

  it('of two seconds for drift and requests', () => {
    const scene = HELD.changing((token) => token.annotated(Annotation.rotate, '1'));
    expect(planToken(scene.build(), at('12:00:01'))).toEqual({ type: 'hold', strip: false, until: at('12:00:02') });
    expect(planToken(scene.build(), at('12:00:02'))).toMatchObject({ type: 'issue' });
  });

  it('even if the Secret is gone and only the status knows of the last one', () => {
    const scene = aScene(aToken().withStatus({ issuedAt: '2026-03-01T12:00:00Z' }));
    expect(planToken(scene.build(), at('12:00:01'))).toEqual({ type: 'hold', strip: false, until: at('12:00:02') });
  });

  it('F39: even if the token of the last one was never written', () => {
    const scene = aScene().with({ lastIssuedAt: NOON });
    expect(planToken(scene.build(), at('12:00:01'))).toEqual({ type: 'hold', strip: false, until: at('12:00:02') });
  });

  it('of 30 seconds for a token that was granted for a few', () => {
    const scene = aScene().holding(aGrant().expiringIn('5s'));
    expect(planToken(scene.build(), at('12:00:10'))).toEqual({ type: 'hold', strip: true, until: at('12:00:30') });
    expect(planToken(scene.build(), at('12:00:30'))).toMatchObject({ type: 'issue', reason: 'RotationDue' });
  });

  it('but not because of a status from the future', () => {
    const scene = aScene(aToken().withStatus({ issuedAt: '9999-03-01T12:00:00Z' }));
    expect(planToken(scene.build(), NOON)).toMatchObject({ type: 'issue' });
  });
});

describe('planToken rewrites without issuing', () => {
  it.each([
    ['when outputs are added', HELD.changing((token) => token.writing({ outputs: ['Token', 'Kubeconfig'] }))],
    ['when the form changes', HELD.changing((token) => token.writing({ outputs: ['ArgoCD'] }))],
    ['when labels change', HELD.changing((token) => token.writing({ labels: { team: 'a' } }))],
    ['when annotations change', HELD.changing((token) => token.writing({ annotations: { note: 'x' } }))],
    ['when the address of the cluster changes', HELD.with({ outputsDigest: digestOf('another address') })],
    ['when renewBefore changes', HELD.changing((token) => token.renewedBefore('30m'))],
    ['when somebody edits or adds a key', HELD.with({ secret: { ...secretOfHeld(), outputsDigest: digestOf('edited') } })],
    ['when our label is gone', HELD.with({ secret: { ...secretOfHeld(), metadata: { ...secretOfHeld().metadata, labels: {} } } })],
  ])('%s', (_, scene) => {
    expect(planToken(scene.build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'update' });
  });

  it('F20: by a new Secret when it was made immutable', () => {
    expect(planToken(immutable().build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'replace' });
  });

  it('M-5: by a new Secret when ours is of another type', () => {
    const secret = { ...secretOfHeld(), type: 'kubernetes.io/service-account-token' };
    expect(planToken(HELD.with({ secret }).build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'replace' });
  });

  it('moves the token when the Secret gets another name, and removes the old one after that', () => {
    const renamed = HELD.changing((token) => token.writing({ name: 'ci-token' })).with({ secret: undefined, former: [secretOfHeld()] });
    expect(planToken(renamed.build(), at('12:20:00'))).toMatchObject({ type: 'rewrite', from: 'ci', write: 'create' });
    const moved = renamed.holding(aGrant());
    expect(planToken(moved.build(), at('12:20:00'))).toEqual({ type: 'remove', secrets: ['ci'] });
    expect(planToken(moved.with({ former: [] }).build(), at('12:20:00')).type).toBe('wait');
  });

  it('not because others labelled the Secret', () => {
    const { metadata, ...secret } = secretOfHeld();
    const labelled = { ...secret, metadata: { ...metadata, labels: { ...metadata.labels, 'velero.io/backup': 'no' } } };
    expect(planToken(HELD.with({ secret: labelled }).build(), at('12:20:00')).type).toBe('wait');
  });
});

describe('planToken with a Cluster that its credential does not cover', () => {
  const unwritable = { reason: 'EndpointNotPinned', message: 'not pinned' } as const;
  const evil = { cluster: aCluster('another', ['https://evil.example.com']), unwritable };

  it('keeps the Secret as it is and reports why, until the renewal is due', () => {
    const scene = HELD.with({ ...evil, verifyAt: NOON });
    const plan = planToken(scene.build(), at('12:20:00'));
    expect(plan).toMatchObject({ type: 'hold', strip: false, failure: unwritable });
    expect(plan.type === 'hold' && plan.until).toBeLessThanOrEqual(at('12:48:00'));
  });

  it('asks for a token when the renewal is due, and keeps the old one if there is none', () => {
    expect(planToken(HELD.with(evil).build(), at('12:50:00'))).toMatchObject({ type: 'issue', reason: 'RotationDue', dropOld: false });
  });

  it('removes a token that has expired', () => {
    expect(planToken(HELD.with(evil).build(), at('13:00:00'))).toMatchObject({ type: 'issue', dropOld: true });
  });
});

describe('planToken with a Cluster that refers to another credential', () => {
  const controller = { kind: 'Secret', namespace: 'purser-system', name: 'other' } as const;
  const { spec, ...rest } = aCluster();
  const cluster = { ...rest, spec: { ...spec, authInfo: { controller } } };

  it('reissues the token instead of writing it next to other addresses, and keeps it meanwhile', () => {
    const scene = HELD.with({ cluster, outputsDigest: digestOf('another address') });
    expect(planToken(scene.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'CredentialReplaced', dropOld: false });
    expect(planToken(scene.with({ lastIssuedAt: at('12:19:59') }).build(), at('12:20:00'))).toMatchObject({ type: 'hold', strip: false });
  });
});

describe('planToken holds', () => {
  it.each([
    ['M-3: nobody', undefined],
    ['M-4: another ManagedToken', 'another-uid'],
  ])('off a Secret that belongs to %s', (_, uid) => {
    const owner = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'other', controller: true };
    const metadata = { name: 'ci', ...(uid && { ownerReferences: [{ ...owner, uid }] }) };
    const plan = planToken(HELD.with({ secret: { ...secretOfHeld(), metadata } }).build(), at('12:20:00'));
    expect(plan).toMatchObject({ type: 'hold', failure: { reason: 'SecretConflict' }, strip: false });
    expect(plan).not.toHaveProperty('until');
  });

  it.each([
    ['keeps a valid token until its expiry', {}, '12:50:00', { strip: false, until: at('13:00:00') }],
    ['takes an expired token away', {}, '13:00:00', { strip: true }],
    ['takes the token for another spec away', { audiences: ['vault'] }, '12:50:00', { strip: true }],
  ])('off a Secret of others that the name leads to, and in the former one %s', (_, spec, time, held) => {
    const scene = ontoForeign((token) => token.with(spec));
    const plan = planToken(scene.build(), at(time));
    expect(plan).toMatchObject({ type: 'hold', failure: { reason: 'SecretConflict' }, ...held });
  });

  it('off a Secret of others, but revokes all the same what is in the former one', () => {
    const anchors = [{ cluster: 'prod-eu', namespace: 'deploy', clusterUID: 'cluster-uid', credential: '' }];
    const scene = ontoForeign((token) =>
      token.with({ revocation: 'BoundSecret' }).withStatus({ anchors }).annotated(Annotation.revoke, 'leaked'),
    );
    expect(planToken(scene.build(), at('12:20:00'))).toEqual({ type: 'revoke', request: 'leaked', secrets: ['ci'] });
  });

  it('off a Secret that refers to us but has another controller', () => {
    const { metadata, ...secret } = secretOfHeld();
    const others = { apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'x', controller: true };
    const ownerReferences = [others, ...(metadata.ownerReferences ?? []).map((owner) => ({ ...owner, controller: false }))];
    const scene = HELD.with({ secret: { ...secret, metadata: { ...metadata, ownerReferences } } });
    expect(planToken(scene.build(), at('12:20:00'))).toMatchObject({ failure: { reason: 'SecretConflict' } });
  });

  it.each([
    ['keeps a valid token until its expiry', HELD, '12:50:00', { strip: false, until: at('13:00:00') }],
    ['takes an expired token away', HELD, '13:00:00', { strip: true }],
    ['takes the token of another cluster away', changed({ clusterName: 'prod-us' }), '12:50:00', { strip: true }],
    ['has nothing to take away where there is nothing', aScene(), '12:50:00', { strip: false }],
  ])('without the Cluster, and %s', (_, scene, time, held) => {
    const plan = planToken(scene.with({ cluster: undefined }).build(), at(time));
    expect(plan).toMatchObject({ type: 'hold', failure: { reason: 'ClusterNotFound' }, ...held });
  });

  it.each([
    ['keeps a valid token until its expiry', HELD, '12:50:00', { strip: false, until: at('13:00:00') }],
    ['takes an expired token away', HELD, '13:00:00', { strip: true }],
    ['repairs nothing', edited('invalid'), '12:50:00', { strip: false, until: at('13:00:00') }],
    ['issues nothing', aScene(), '12:50:00', { strip: false }],
    ['does not look for the Cluster', HELD.with({ cluster: undefined }), '12:50:00', { strip: false, until: at('13:00:00') }],
  ])('while suspended, and %s', (_, scene, time, held) => {
    const plan = planToken(scene.changing((token) => token.suspended()).build(), at(time));
    expect(plan).toEqual({ type: 'hold', ...held });
  });

  it.each([
    ['M-9: 599 seconds', { expirationSeconds: 599 }],
    ['M-9: 2³²+1 seconds', { expirationSeconds: 2 ** 32 + 1 }],
    ['M-9: -1 seconds', { expirationSeconds: -1 }],
  ])('a spec with %s, and keeps the token that there is', (_, spec) => {
    expect(planToken(changed(spec).build(), at('12:50:00'))).toMatchObject({ failure: { reason: 'InvalidSpec' }, strip: false });
  });

  it('audiences that the installation does not allow', () => {
    expect(planToken(aScene().build(), NOON, { allowedAudiences: ['vault'] })).toMatchObject({ failure: { reason: 'InvalidSpec' } });
  });
});

describe('planToken with revocation BoundSecret', () => {
  const HERE = { cluster: 'prod-eu', namespace: 'deploy', clusterUID: 'cluster-uid', credential: '' };
  const token = aToken()
    .with({ revocation: 'BoundSecret' })
    .withMetadata({ finalizers: [AnchorFinalizer] })
    .withStatus({ anchors: [HERE] });
  const kubernetes = { serviceaccount: { uid: '9d6a0f52-0000-4000-8000-00000000000a' }, secret: { name: 'purser-x', uid: 'anchor-uid' } };
  const grant = aGrant().claiming({ 'kubernetes.io': kubernetes });
  const bound = aScene(token).holding(grant);
  const asked = bound.changing((each) => each.annotated(Annotation.revoke, 'leak'));

  it('waits while nothing is asked', () => {
    expect(planToken(bound.build(), at('12:20:00')).type).toBe('wait');
  });

  it.each([
    ['a new value asks for it', asked],
    ['it is suspended', asked.changing((each) => each.suspended())],
    ['the Cluster is gone', asked.with({ cluster: undefined })],
  ])('revokes when %s', (_, scene) => {
    expect(planToken(scene.build(), at('12:20:00'))).toEqual({ type: 'revoke', request: 'leak', secrets: ['ci'] });
  });

  it('starts over with a new anchor, even if the status could not be written', () => {
    const revoked = asked.with({ secret: undefined, revoked: 'leak' });
    expect(planToken(revoked.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'SecretMissing' });
  });

  it('revokes a token whose record in the Secret claims a revocation that the status does not', () => {
    const claimed = asked.with({ secret: undefined }).holding(grant);
    expect(planToken(claimed.build(), at('12:20:00')).type).toBe('revoke');
    const done = claimed.changing((each) => each.withStatus({ anchors: [HERE], lastRevokeRequest: 'leak' }));
    expect(planToken(done.build(), at('12:20:00')).type).toBe('wait');
  });

  it.each([
    ['nobody has taken its place', asked],
    ['the Secret belongs to others', asked.with({ secret: { ...secretOfHeld(), metadata: { name: 'ci' } } })],
    ['the spec is invalid', asked.changing((each) => each.with({ audiences: [] }))],
    ['the Cluster is gone', asked.with({ cluster: undefined })],
  ])('revokes without a Secret of its own, too: %s', (_, scene) => {
    const { secret, ...observation } = scene.build();
    const foreign = secret?.metadata.ownerReferences === undefined ? secret : undefined;
    expect(planToken({ ...observation, secret: foreign }, at('12:20:00'))).toEqual({ type: 'revoke', request: 'leak', secrets: [] });
  });

  it('has nothing to revoke before there is an anchor', () => {
    const fresh = aScene(aToken().with({ revocation: 'BoundSecret' }).annotated(Annotation.revoke, 'leak'));
    expect(planToken(fresh.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'RevocationRequested', freshAnchor: true });
  });

  it('does not call a token revoked that was never bound', () => {
    const unbound = aScene(aToken()).holding(aGrant());
    const turned = unbound.changing((each) => each.with({ revocation: 'BoundSecret' }).annotated(Annotation.revoke, 'leak'));
    expect(planToken(turned.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'SpecChanged' });
  });

  it('revokes a bound token whose anchor is not listed by issuing the next token at once', () => {
    const unlisted = asked.changing((each) => each.withStatus({}));
    expect(planToken(unlisted.build(), at('12:20:00'))).toMatchObject({ type: 'issue', reason: 'RevocationRequested', freshAnchor: true });
  });

  describe('after a move', () => {
    const former = [
      { cluster: 'prod-us', namespace: 'deploy', clusterUID: 'cluster-uid', credential: '' },
      { cluster: 'prod-eu', namespace: 'other', clusterUID: 'cluster-uid', credential: '' },
    ];
    const moved = bound.changing((each) => each.withStatus({ anchors: [HERE, ...former] }));

    it('deletes the anchors of former places once the Secret holds a token for the present place', () => {
      expect(planToken(moved.build(), at('12:20:00'))).toEqual({ type: 'leave', places: former });
      expect(planToken(moved.with({ secret: undefined }).build(), at('12:20:00')).type).toBe('issue');
    });

    it('waits before it tries again to delete former anchors', () => {
      const tried = moved.with({ anchorsAt: at('12:21:00') }).build();
      expect(planToken(tried, at('12:20:00'))).toEqual({ type: 'wait', until: at('12:21:00') });
    });

    it('deletes former anchors before it issues when 16 are listed, that of the present token last', () => {
      const anchors = Array.from({ length: 16 }, (_, index) => ({
        cluster: 'prod-us',
        namespace: `ns-${index}`,
        clusterUID: 'cluster-uid',
        credential: '',
      }));
      const full = bound.changing((each) => each.withStatus({ anchors }));
      expect(planToken(full.build(), at('12:20:00'))).toEqual({ type: 'leave', places: anchors });
      expect(planToken(full.with({ secret: undefined, anchorsAt: at('12:21:00') }).build(), at('12:20:00')).type).toBe('issue');
    });
  });

  it('stays off while suspended', () => {
    const off = asked.with({ secret: undefined }).changing((each) => each.suspended().withStatus({ lastRevokeRequest: 'leak' }));
    expect(planToken(off.build(), at('12:20:00'))).toEqual({ type: 'hold', strip: false });
  });

  it('does not take the annotation for anything without BoundSecret', () => {
    expect(planToken(HELD.changing((each) => each.annotated(Annotation.revoke, 'leak')).build(), at('12:20:00')).type).toBe('wait');
  });

  it('deletes every anchor once tokens are no longer bound to one, then removes the finalizer', () => {
    const unbound = aScene(aToken().withMetadata({ finalizers: [AnchorFinalizer] })).holding(aGrant());
    const listed = unbound.changing((each) => each.withStatus({ anchors: [HERE] }));
    expect(planToken(listed.build(), at('12:20:00'))).toEqual({ type: 'leave', places: [HERE] });
    expect(planToken(unbound.build(), at('12:20:00'))).toEqual({ type: 'release', anchor: 'none' });
  });

  it.each([
    ['deletes the anchor', bound, '12:20:00', 'delete'],
    ['gives up after ten minutes', bound, '12:30:00', 'orphaned'],
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
  ])('and being deleted %s', (_, scene, time, anchor) => {
    const deleted = scene.changing((each) => each.withMetadata({ deletionTimestamp: '2026-03-01T12:20:00Z' }));
    expect(planToken(deleted.build(), at(time))).toEqual({ type: 'release', anchor });
  });

  it('believes no Secret of others that the last token has expired', () => {
    const metadata = { name: 'ci', annotations: { ...secretOfHeld().metadata.annotations } };
    const deleted = bound.changing((each) => each.withMetadata({ deletionTimestamp: '2026-03-01T12:58:00Z' }));
    expect(planToken(deleted.with({ secret: { ...secretOfHeld(), metadata } }).build(), at('13:00:00'))).toEqual({
      type: 'release',
      anchor: 'delete',
    });
  });
});

describe('planToken for a ManagedToken that is being deleted', () => {
  const deleted = HELD.changing((token) =>
    token.withMetadata({ deletionTimestamp: '2026-03-01T12:00:00Z', finalizers: ['example.com/other'] }),
  );

  it('does nothing without a Secret', () => {
    expect(planToken(deleted.with({ secret: undefined }).build(), at('12:59:00'))).toEqual({ type: 'none' });
  });

  it('keeps the token, without renewing it, to its expiry (M-13)', () => {
    expect(planToken(deleted.build(), at('12:59:00'))).toEqual({ type: 'hold', strip: false, until: at('13:00:00') });
  });

  it('removes an expired token from the Secret', () => {
    expect(planToken(deleted.build(), at('13:00:00'))).toMatchObject({ type: 'hold', strip: true });
  });
});

function secretOfHeld() {
  return stored(writtenSecret({ token: aToken().build(), cluster: aCluster(), secret: undefined }, aGrant()));
}

function backup() {
  const status = { issuedAt: '2026-02-01T12:00:00Z', expirationTimestamp: '2027-02-01T12:00:00Z', secretName: 'ci' };
  return aScene(aToken().withStatus(status));
}

function withoutKeyToken() {
  const { tokenDigest: _, claims: __, ...secret } = secretOfHeld();
  return secret;
}

function edited(text: string) {
  return HELD.with({ secret: { ...secretOfHeld(), tokenDigest: digestOf(text) } });
}

/** Somebody else's token with a record as we would have written it for ours. */
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

function refused(text: string) {
  return HELD.with({ verdict: { tokenDigest: digestOf(text), accepted: false } });
}

function immutable() {
  return HELD.with({ secret: { ...secretOfHeld(), immutable: true } });
}

/** The Secret was to be given a name that somebody else's has. */
function ontoForeign(change: (token: TokenBuilder) => TokenBuilder): SceneBuilder {
  const theirs = { ...secretOfHeld(), metadata: { name: 'theirs' } };
  const renamed = HELD.changing((token) => change(token.writing({ name: 'theirs' })));
  return renamed.with({ secret: theirs, former: [secretOfHeld()] });
}
