import { describe, expect, it } from '@jest/globals';
import { Annotation, Label, LabelValue } from '../../src/api/names.ts';
import type { Secret } from '../../src/api/resources.ts';
import { secretConflictFailure } from '../../src/tokens/policy/messages.ts';
import { conflictOf } from '../../src/tokens/policy/secret-ownership.ts';
import { reduceSecret } from '../../src/tokens/reduce.ts';
import { aToken } from '../support/builders.ts';

const TOKEN = aToken().build();

/** A Secret of the ManagedToken with foreign annotations of this many characters. */
function secretWith(length: number): Secret {
  return {
    metadata: {
      name: TOKEN.metadata.name ?? '',
      namespace: TOKEN.metadata.namespace ?? '',
      uid: 'secret-uid',
      resourceVersion: '7',
      labels: { [Label.managedBy]: LabelValue.managedBy, team: 'a' },
      annotations: { [Annotation.expiresAt]: '2026-03-01T13:00:00Z', 'example.com/filler': 'x'.repeat(length) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'ManagedToken', name: 'ci', uid: TOKEN.metadata.uid ?? '', controller: true }],
    },
    type: 'Opaque',
  };
}

describe('reduceSecret', () => {
  it('keeps labels and annotations of others, which a write must not remove', () => {
    const secret = secretWith(1_000);
    expect(reduceSecret(secret)).toMatchObject({ metadata: secret.metadata });
  });

  it('keeps little of a Secret with 250 kB of annotations, which becomes a conflict that names the remedy', () => {
    const secret = reduceSecret(secretWith(250_000));
    expect(JSON.stringify(secret).length).toBeLessThan(1_000);
    const conflict = conflictOf({ token: TOKEN, cluster: undefined, secret, former: [] });
    expect(conflict && secretConflictFailure(conflict)).toEqual({
      reason: 'SecretConflict',
      message: `The metadata of Secret ${TOKEN.metadata.name} exceeds 32 kB. Remove labels and annotations that Purser did not set.`,
    });
  });
});
