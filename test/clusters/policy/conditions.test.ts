import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ClusterReason } from '../../../src/api/reasons.ts';
import {
  type CredentialEvidence,
  evaluateCredential,
  evaluateProbe,
  type FaultReason,
  toFinding,
} from '../../../src/clusters/policy/conditions.ts';

const WELL = ['True Responding', 'True PermissionsGranted', 'True ClusterReady'];

const TABLE: readonly (readonly [FaultReason, string, string, string])[] = [
  ...(
    [
      'DNSFailed',
      'ConnectionRefused',
      'Timeout',
      'TLSVerifyFailed',
      'AddressNotAllowed',
      'ResponseUntrusted',
      'Unreachable',
      'ProxyUnreachable',
      'ProxyRejected',
    ] as const
  ).map((reason) => [reason, `False ${reason}`, 'Unknown NoResponse', `False ${reason}`] as const),
  ['CredentialRejected', 'True Responding', 'False CredentialRejected', 'False CredentialRejected'],
  ['Forbidden', 'True Responding', 'False Forbidden', 'False Forbidden'],
  ['PermissionsUnknown', 'True Responding', 'Unknown PermissionsUnknown', 'Unknown PermissionsUnknown'],
  ['CredentialMissing', 'Unknown NotProbed', 'False CredentialMissing', 'False CredentialMissing'],
  ['EndpointNotPinned', 'Unknown NotProbed', 'False EndpointNotPinned', 'False EndpointNotPinned'],
  ['NotReady', 'True Responding', 'True PermissionsGranted', 'False NotReady'],
  ['Throttled', 'True Responding', 'True PermissionsGranted', 'False Throttled'],
  ['ProbeFailed', 'Unknown ProbeFailed', 'Unknown ProbeFailed', 'Unknown ProbeFailed'],
];

function evaluate(...reasons: readonly FaultReason[]): readonly string[] {
  const findings = evaluateProbe({ faults: reasons.map((reason) => ({ reason, detail: '' })) });
  return (['Reachable', 'Authorized', 'Ready'] as const)
    .map((type) => findings.get(type))
    .map((found) => `${found?.status} ${found?.reason}`);
}

describe('evaluateProbe', () => {
  it('returns True for every condition without a fault', () => expect(evaluate()).toEqual(WELL));

  it.each(TABLE)('maps %s to Reachable=%s, Authorized=%s, Ready=%s', (reason, ...expected) => expect(evaluate(reason)).toEqual(expected));

  it('keeps known permissions while the cluster is not ready', () =>
    expect(evaluate('NotReady', 'Forbidden')).toEqual(['True Responding', 'False Forbidden', 'False Forbidden']));

  it('returns Authorized=Unknown while the cluster does not respond', () =>
    expect(evaluate('Timeout', 'Forbidden')).toEqual(['False Timeout', 'Unknown NoResponse', 'False Timeout']));

  it('returns Ready=True only without any fault', () => {
    const reasons = fc.subarray(TABLE.map(([reason]) => reason));
    fc.assert(fc.property(reasons, (given) => (evaluate(...given)[2] === 'True ClusterReady') === (given.length === 0)));
  });
});

describe('evaluateCredential', () => {
  const NOW = Date.parse('2026-03-01T12:00:00Z');
  const HOUR_MS = 3_600_000;
  const DAY_MS = 24 * HOUR_MS;
  const fresh = (credential: CredentialEvidence) => evaluateCredential(credential, NOW).get('CredentialFresh');

  it.each([
    ['a token without claims', undefined, 'Unknown ExpiryUnknown'],
    ['a credential without expiry', {}, 'True CredentialValid'],
    ['a credential for a year on its first day', { startsAt: NOW, expiresAt: NOW + 365 * DAY_MS }, 'True CredentialValid'],
    [
      'a credential for a year, a month before expiry',
      { startsAt: NOW - 335 * DAY_MS, expiresAt: NOW + 30 * DAY_MS },
      'False CredentialExpiring',
    ],
    ['a credential for an hour at half-life', { startsAt: NOW - HOUR_MS / 2, expiresAt: NOW + HOUR_MS / 2 }, 'True CredentialValid'],
    [
      'a credential for an hour with 20% left',
      { startsAt: NOW - 0.8 * HOUR_MS, expiresAt: NOW + 0.2 * HOUR_MS },
      'False CredentialExpiring',
    ],
    ['a credential without start, a day before expiry', { expiresAt: NOW + DAY_MS }, 'False CredentialExpiring'],
    ['a credential at expiry', { startsAt: NOW - DAY_MS, expiresAt: NOW }, 'False CredentialExpired'],
    ['a credential whose expiry precedes its start', { startsAt: NOW + DAY_MS, expiresAt: NOW + HOUR_MS }, 'True CredentialValid'],
  ])('returns the finding for %s', (_, validity, expected) => {
    const found = fresh({ type: 'stored', validity });
    expect(`${found?.status} ${found?.reason}`).toBe(expected);
  });

  it("returns CredentialFresh=True for Purser's own token on the hub, and Unknown for a missing credential", () => {
    expect(fresh({ type: 'own' })).toMatchObject({ status: 'True', reason: 'CredentialValid' });
    expect(fresh({ type: 'missing' })).toMatchObject({ status: 'Unknown', reason: 'CredentialMissing' });
  });

  it('returns CredentialFresh=True for tokens that the hub issues, and False with the remedy while the hub issues none', () => {
    const federated = { type: 'federated', serviceAccount: 'purser-system/x' } as const;
    expect(fresh(federated)).toEqual({
      status: 'True',
      reason: 'CredentialValid',
      message: 'No credential is stored; Purser requests tokens for service account purser-system/x from the hub.',
    });
    expect(fresh({ ...federated, failure: { reason: 'HubTokenForbidden', detail: 'forbidden' } })).toEqual({
      status: 'False',
      reason: 'HubTokenForbidden',
      message: expect.stringMatching(
        /^The hub does not permit Purser to request .*: forbidden\. Apply the output of purser print hub-rbac --service-account /,
      ),
    });
  });

  it('names the expiry of the last token from the hub while the hub issues none, until that token expires', () => {
    const failure = { reason: 'HubTokenFailed', detail: 'etcd is down' } as const;
    const messageAt = (expiresAt: number) =>
      fresh({ type: 'federated', serviceAccount: 'x', times: { issuedAt: 0, renewAt: 0, expiresAt }, failure })?.message;
    const expiry = new Date(NOW + HOUR_MS).toISOString().replace('.000', '');
    expect(messageAt(NOW + HOUR_MS)).toContain(`: etcd is down; the credential in use expires at ${expiry}. Check `);
    expect(messageAt(NOW)).toContain(': etcd is down. Check ');
  });

  it('returns CredentialFresh=False for a credential that the cluster rejects before its expiry', () => {
    const validity = { startsAt: NOW, expiresAt: NOW + DAY_MS };
    expect(fresh({ type: 'stored', validity, isRejected: true })).toMatchObject({ status: 'False', reason: 'CredentialRejected' });
  });

  it('shows the next renewal, and a supplied credential that Purser is about to replace', () => {
    const validity = { startsAt: NOW, expiresAt: NOW + DAY_MS };
    const renewed = fresh({ type: 'stored', validity, renewAt: NOW + HOUR_MS });
    const supplied = fresh({ type: 'stored', validity, renewAt: NOW, isSupplied: true });
    expect([renewed, supplied].map((each) => `${each?.status} ${each?.reason}: ${each?.message}`)).toEqual([
      'True CredentialValid: The credential is valid until 2026-03-02T12:00:00Z; next renewal at 2026-03-01T13:00:00Z.',
      'True CredentialRenewalPending: The credential is valid until 2026-03-02T12:00:00Z; renewal is due.',
    ]);
  });

  it.each([
    ['CredentialRenewalFailed', 'the cluster did not respond in time', 'Purser retries'],
    ['CredentialRenewalForbidden', 'cannot create resource', 'Apply deploy/target/access.yaml'],
    ['CredentialRenewalUntrusted', 'the token belongs to another user', 'Check that serverEndpoints'],
    ['CredentialNotStored', 'the Secret is immutable', 'Check that Purser may create, update and delete Secrets'],
    ['CredentialNotRetired', 'the token is rejected', 'Write a token that the cluster accepts'],
    ['CredentialNotRevoked', 'cannot delete resource', 'If a permission is missing, apply deploy/target/access.yaml'],
  ] as const)('shows %s with cause, expiry and remedy', (reason, detail, remedy) => {
    const validity = { startsAt: NOW, expiresAt: NOW + DAY_MS };
    const found = fresh({ type: 'stored', validity, renewAt: NOW, failure: { reason, detail } });
    expect(found).toMatchObject({ status: 'False', reason });
    expect(found?.message).toContain(`: ${detail}; the credential in use expires at 2026-03-02T12:00:00Z. ${remedy}`);
  });

  it('names the command that repairs an expired token', () => {
    const expired = fresh({ type: 'stored', validity: { startsAt: NOW - DAY_MS, expiresAt: NOW }, cluster: 'prod-eu' });
    expect(expired?.message).toBe(
      'The credential expired at 2026-03-01T12:00:00Z. If spec.credential.renewal is Auto, run purser cluster renew prod-eu --context CONTEXT; otherwise, write a new credential to the Secret that spec.authInfo.controller references.',
    );
  });

  it('names the expiry and the remedy in the message', () => {
    expect(fresh({ type: 'stored', validity: { startsAt: NOW - DAY_MS, expiresAt: NOW + HOUR_MS } })?.message).toBe(
      'The credential expires at 2026-03-01T13:00:00Z. Write a new credential to the Secret that spec.authInfo.controller references.',
    );
  });
});

describe('toFinding', () => {
  it.each(TABLE)('adds a remedy to %s', (reason) =>
    expect(toFinding('False', reason, 'a detail').message).toMatch(new RegExp(`^${sentence(reason)}: a detail\\. [A-Z].+\\.$`)),
  );

  it('returns a message of one line without tokens for any detail', () => {
    const { message } = toFinding('False', 'NotReady', 'line\nline \u001b[31m eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln');
    expect(message).not.toMatch(/\p{C}|eyJ/u);
  });
});

function sentence(reason: FaultReason): string {
  const text: string = ClusterReason[reason];
  return text.charAt(0).toUpperCase() + text.slice(1);
}
