// Field owners, compared with recordings of a real kube-apiserver.

import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '../../../src/kubernetes/object.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';
import { applyPatch } from '../../fields/apply.ts';
import { withTrackedUpdate } from '../../fields/managed-fields.ts';
import { coreEventKind } from '../../kinds/event.ts';
import { leaseKind } from '../../kinds/lease.ts';
import { secretKind } from '../../kinds/secret.ts';
import { readExchange } from '../recorded.ts';
import { resultOrStatus } from '../status.ts';

function recordedObject(name: string): KubeObject {
  return JSON.parse(readExchange('resources', name).response.body) as KubeObject;
}

function timeOf({ metadata }: KubeObject): string {
  return metadata.managedFields?.at(-1)?.time ?? '';
}

describe('withTrackedUpdate', () => {
  it.each([
    ['secret-create', undefined, secretKind.schema],
    ['secret-patch-merge', 'secret-create', secretKind.schema],
    ['secret-patch-strategic', 'secret-patch-merge', secretKind.schema],
    ['secret-immutable', 'secret-patch-strategic', secretKind.schema],
    ['lease-create', undefined, leaseKind.schema],
    ['lease-put', 'lease-create', leaseKind.schema],
    ['event-create', undefined, coreEventKind.schema],
  ] as const)('returns the recorded owners of %s', (name, before, schema: Schema) => {
    const next = recordedObject(name);
    const live = before === undefined ? undefined : recordedObject(before);
    const sent = { ...next, metadata: { ...next.metadata, managedFields: live?.metadata.managedFields ?? [] } };
    const update = { live, next: sent, manager: 'unknown', apiVersion: next.apiVersion, now: timeOf(next), schema };
    expect(JSON.stringify(withTrackedUpdate(update).metadata.managedFields)).toBe(JSON.stringify(next.metadata.managedFields));
  });
});

describe('applyPatch', () => {
  const schema =
    (
      JSON.parse(readExchange('resources', 'crd-create').request.body ?? '') as {
        readonly spec: { readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[] };
      }
    ).spec.versions[0]?.schema.openAPIV3Schema ?? {};

  it.each([
    ['cr-apply-create', undefined],
    ['cr-apply-again', 'cr-apply-create'],
    ['cr-apply-other-manager', 'cr-apply-again'],
    ['cr-apply-conflict', 'cr-apply-other-manager'],
    ['cr-apply-force', 'cr-apply-other-manager'],
    ['cr-apply-removes-owned', 'cr-apply-force'],
    ['cr-apply-status', 'cr-apply-removes-owned'],
  ])('returns the recorded result of %s', (name, before) => {
    const { request } = readExchange('resources', name);
    const url = new URL(request.path, 'https://x');
    const recorded = recordedObject(name);
    const subresource = url.pathname.endsWith('/status') ? 'status' : '';
    const result = resultOrStatus(() =>
      applyPatch({
        live: before === undefined ? undefined : recordedObject(before),
        applied: JSON.parse(request.body ?? '') as KubeObject,
        manager: url.searchParams.get('fieldManager') ?? '',
        force: url.searchParams.get('force') === 'true',
        apiVersion: 'example.dev/v1alpha1',
        kind: 'Widget',
        now: timeOf(recorded),
        subresource,
        schema,
        resetPaths: subresource === '' ? [['status']] : [['metadata'], ['spec']],
        applyDefaults: (object) => ({ ...object, spec: { color: 'red', mode: 'auto', ...(object['spec'] as object) } }),
      }),
    );
    if (recorded.kind === 'Status') {
      expect(result).toEqual(recorded);
      return;
    }
    expect((result as KubeObject).metadata.managedFields).toEqual(recorded.metadata.managedFields);
    expect((result as KubeObject)['spec']).toEqual(recorded['spec']);
    expect((result as KubeObject)['status']).toEqual(recorded['status']);
  });
});
