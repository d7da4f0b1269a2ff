import { describe, expect, it } from '@jest/globals';
import { toGroups } from '../../discovery/groups.ts';
import { KINDS, widgetKind } from './discover.ts';

describe('toGroups', () => {
  it('returns groups in Kubernetes order, with custom groups last', () => {
    expect(toGroups([widgetKind(), ...KINDS]).map(({ name }) => name)).toEqual([
      '',
      'authentication.k8s.io',
      'authorization.k8s.io',
      'rbac.authorization.k8s.io',
      'coordination.k8s.io',
      'example.dev',
    ]);
  });
});
