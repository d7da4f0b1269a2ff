import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { ClusterReason } from '../../../src/api/reasons.ts';
import { type FaultReason, readingOf } from '../../../src/clusters/policy/conditions.ts';
import { finding } from '../../../src/clusters/policy/findings.ts';

const WELL = ['True Answering', 'True RightsGranted', 'True ClusterReady'];

const TABLE: readonly (readonly [FaultReason, string, string, string])[] = [
  ...(['DNSFailed', 'ConnectionRefused', 'Timeout', 'TLSVerifyFailed', 'AddressRefused', 'AnswerUntrusted', 'Unreachable'] as const).map(
    (reason) => [reason, `False ${reason}`, 'Unknown NoAnswer', `False ${reason}`] as const,
  ),
  ['CredentialRejected', 'True Answering', 'False CredentialRejected', 'False CredentialRejected'],
  ['Forbidden', 'True Answering', 'False Forbidden', 'False Forbidden'],
  ['RightsUnknown', 'True Answering', 'Unknown RightsUnknown', 'Unknown RightsUnknown'],
  ['CredentialMissing', 'Unknown NotProbed', 'False CredentialMissing', 'False CredentialMissing'],
  ['EndpointNotPinned', 'Unknown NotProbed', 'False EndpointNotPinned', 'False EndpointNotPinned'],
  ['NotReady', 'True Answering', 'True RightsGranted', 'False NotReady'],
  ['Throttled', 'True Answering', 'True RightsGranted', 'False Throttled'],
  ['ProbeFailed', 'Unknown ProbeFailed', 'Unknown ProbeFailed', 'Unknown ProbeFailed'],
];

function read(...reasons: readonly FaultReason[]): readonly string[] {
  const { reachable, authorized, ready } = readingOf(reasons.map((reason) => ({ reason, detail: '' })));
  return [reachable, authorized, ready].map(({ status, reason }) => `${status} ${reason}`);
}

describe('a reading', () => {
  it('is all True without a fault', () => expect(read()).toEqual(WELL));

  it.each(TABLE)('of %s is Reachable=%s, Authorized=%s, Ready=%s', (reason, ...expected) => expect(read(reason)).toEqual(expected));

  it('keeps what is known of the rights while the cluster is not ready', () =>
    expect(read('NotReady', 'Forbidden')).toEqual(['True Answering', 'False Forbidden', 'False Forbidden']));

  it('says nothing of rights while there is no answer', () =>
    expect(read('Timeout', 'Forbidden')).toEqual(['False Timeout', 'Unknown NoAnswer', 'False Timeout']));

  it('is ready only when every aspect is True', () => {
    const reasons = fc.subarray(TABLE.map(([reason]) => reason));
    fc.assert(fc.property(reasons, (given) => (read(...given)[2] === 'True ClusterReady') === (given.length === 0)));
  });
});

describe('a finding', () => {
  it.each(TABLE)('of %s says what to do', (reason) =>
    expect(finding('False', reason, 'a detail').message).toMatch(new RegExp(`^${sentence(reason)}: a detail\\. [A-Z].+\\.$`)),
  );

  it('is one line without tokens, whatever the detail', () => {
    const { message } = finding('False', 'NotReady', 'line\nline \u001b[31m eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln');
    expect(message).not.toMatch(/\p{C}|eyJ/u);
  });
});

function sentence(reason: FaultReason): string {
  const text: string = ClusterReason[reason];
  return text.charAt(0).toUpperCase() + text.slice(1);
}
