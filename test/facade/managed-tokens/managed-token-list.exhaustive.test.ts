// The façade returns only the public fields of a ManagedToken: in lists, watches, tables, single objects and errors.

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import { PUBLIC_FIELDS } from '../../../src/facade/managed-tokens/managed-token-list.ts';
import { scaled } from '../../support/scaled.ts';
import { callerOf } from '../listwatch/replica.ts';
import { pathsOf, responsesWith } from '../listwatch/responses.ts';
import { TokenHub, TokenReplica } from '../listwatch/token-replica.ts';

const SECRET = 'hidden-canary';
const ADMIN = callerOf('admin', 'system:masters');

/** Public paths without list indexes and map keys. */
const PUBLIC: ReadonlySet<string> = new Set([
  ...PUBLIC_FIELDS,
  'apiVersion',
  'kind',
  ...['name', 'namespace', 'uid', 'resourceVersion', 'generation', 'creationTimestamp', 'labels'].map((field) => `metadata.${field}`),
]);

const NAMES = [
  'spec',
  'status',
  'token',
  'data',
  'anchors',
  'secret',
  'conditions',
  'message',
  'annotations',
  'keys',
  'argocd',
  '__proto__',
];
const name = fc.oneof(fc.constantFrom(...NAMES), fc.stringMatching(/^[a-z]{1,6}$/));
const anything = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant({ [SECRET]: SECRET }),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value;
const fields = fc.dictionary(name, anything, { maxKeys: 5 });

/** A ManagedToken with arbitrary fields, and a secret in every field that is not public. */
const token = fc
  .record({ metadata: fields, spec: fields, status: fields, condition: fields, secret: fields, rest: fields })
  .map((parts) => ({
    ...parts.rest,
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: {
      ...parts.metadata,
      namespace: 'team-a',
      labels: { env: 'prod' },
      annotations: { 'tokens.purser.dev/rotate': SECRET },
      managedFields: [{ manager: SECRET }],
      ownerReferences: [{ name: SECRET }],
      finalizers: [SECRET],
      generation: 1,
      creationTimestamp: '2026-03-01T12:00:00Z',
      deletionTimestamp: undefined,
    },
    spec: {
      ...parts.spec,
      clusterName: 'prod',
      secret: { ...parts.secret, name: 'ci', labels: { app: 'ci' }, annotations: { note: 'x' } },
    },
    status: {
      ...parts.status,
      secretName: 'ci',
      lastRotateRequest: SECRET,
      lastRevokeRequest: SECRET,
      tokenDigest: SECRET,
      tokenSignature: SECRET,
      secretDigest: SECRET,
      secretRef: { name: SECRET, uid: SECRET },
      anchors: [{ cluster: SECRET }],
      conditions: [{ ...parts.condition, type: 'Ready', status: 'True', reason: 'Issued', message: 'Ready.' }],
    },
  }));

/** Returns a path without list indexes and map keys. */
function pathOfField(path: string): string {
  return path.replaceAll(/\.\d+(?=\.|$)/g, '').replace(/(labels|annotations)\..*$/, '$1');
}

describe('MANAGED_TOKEN_LIST.toPublic in every response', () => {
  it('returns no field outside the allow-list', async () => {
    await fc.assert(
      fc.asyncProperty(token, async (object) => {
        const hub = new TokenHub();
        const replica = new TokenReplica(hub);
        const tokens = hub.tokens.get('')!;
        const put = () => tokens.put('a', object as unknown as ManagedToken);
        const named = { name: 'a', namespace: 'team-a' };
        const { objects, texts } = await responsesWith(replica, ADMIN, { ...named, put, remove: () => tokens.delete('team-a/a') });
        for (const returned of objects)
          expect(
            pathsOf(returned)
              .map(pathOfField)
              .filter((path) => !PUBLIC.has(path)),
          ).toEqual([]);
        const rejected = [
          (await replica.getOne('a', callerOf('unprivileged'), { namespace: 'team-a' })).text,
          (await replica.get('fieldSelector=status.tokenDigest%3Dx', ADMIN)).text,
        ];
        for (const text of [...texts, ...rejected]) expect(text).not.toContain(SECRET);
      }),
      { numRuns: scaled({ full: 200, quick: 20 }) },
    );
  });
});
