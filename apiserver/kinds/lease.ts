// Leases, for leader election.

import { type FieldError, invalidValue } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { int32, microTime, objectStruct, pointer, struct, text } from '../../src/kubernetes/schema/go-struct.ts';
import { AGE_COLUMN, createColumn, NAME_COLUMN, toAge } from '../../src/kubernetes/table.ts';
import { createBuiltInKind, type Kind } from './kind.ts';
import { validateMetadata, validateMetadataUpdate, validateSubdomainName } from './metadata.ts';

interface LeaseSpec {
  readonly holderIdentity?: string;
  readonly leaseDurationSeconds?: number;
  readonly leaseTransitions?: number;
}

interface Lease extends KubeObject {
  readonly spec?: LeaseSpec;
}

const SCHEMA = objectStruct('v1.Lease', {
  spec: struct('v1.LeaseSpec', {
    holderIdentity: pointer(text()),
    leaseDurationSeconds: pointer(int32()),
    acquireTime: pointer(microTime()),
    renewTime: pointer(microTime()),
    leaseTransitions: pointer(int32()),
  }),
});

function validateSpec({ spec }: Lease): readonly FieldError[] {
  const { leaseDurationSeconds: seconds = 1, leaseTransitions: transitions = 0 } = spec ?? {};
  return [
    ...(seconds <= 0 ? [invalidValue('spec.leaseDurationSeconds', seconds, 'must be greater than 0')] : []),
    ...(transitions < 0 ? [invalidValue('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')] : []),
  ];
}

export const leaseKind: Kind = createBuiltInKind({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  namespaced: true,
  schema: SCHEMA,
  table: {
    columns: [
      NAME_COLUMN,
      createColumn(
        'Holder',
        'holderIdentity contains the identity of the holder of a current lease. If Coordinated Leader Election is used, the holder identity must be equal to the elected LeaseCandidate.metadata.name field.',
      ),
      AGE_COLUMN,
    ],
    cells: (lease: Lease, now) => [lease.metadata.name, lease.spec?.holderIdentity ?? '', toAge(lease, now)],
  },
  strategy: {
    unconditionalUpdate: false,
    validate: (lease) => [...validateMetadata(lease, { namespaced: true, validateName: validateSubdomainName }), ...validateSpec(lease)],
    validateUpdate: (next, old) => [...validateMetadataUpdate(next, old), ...validateSpec(next)],
  },
});
