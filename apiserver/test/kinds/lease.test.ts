import { describe, expect, it } from '@jest/globals';
import { leaseKind } from '../../kinds/lease.ts';
import { createdObject, createdText, createErrors, updateErrors } from './write.ts';

describe('leaseKind', () => {
  it('encodes explicit zero values', () => {
    const spec = { leaseTransitions: 0, holderIdentity: '', leaseDurationSeconds: 15 };
    expect(createdText(leaseKind, { spec })).toBe(
      '{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"x","namespace":"team-a"},"spec":{"holderIdentity":"","leaseDurationSeconds":15,"leaseTransitions":0}}',
    );
  });

  it('rejects a zero duration and negative transitions', () => {
    const spec = { leaseDurationSeconds: 0, leaseTransitions: -1 };
    const expected = [
      'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
      'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
    ];
    expect(createErrors(leaseKind, { spec })).toEqual(expected);
    expect(updateErrors(leaseKind, { spec }, {})).toEqual(expected);
  });

  it('accepts unqualified finalizers', () => {
    expect(createErrors(leaseKind, { metadata: { finalizers: ['zz'] } })).toEqual([]);
  });

  it('rejects a PUT without resourceVersion', () => {
    expect(leaseKind.rules).toMatchObject({ unconditionalUpdate: false });
  });

  it('prints the holder in tables', () => {
    expect(leaseKind.table.cells(createdObject(leaseKind, { spec: { holderIdentity: 'me' } }), 0)).toEqual(['x', 'me', '<unknown>']);
  });
});
