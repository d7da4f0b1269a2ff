// The façade returns only the public fields of a Cluster: in lists, watches, tables, single objects and errors.

import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster } from '../../../src/api/cluster.gen.ts';
import { scaled } from '../../support/scaled.ts';
import { callerOf, HandHub, Replica } from '../listwatch/replica.ts';
import { pathsOf, responsesWith } from '../listwatch/responses.ts';

const SECRET = 'hidden-canary';
const ADMIN = callerOf('admin');

/** Patterns of public paths. */
const PUBLIC = [
  /^(apiVersion|kind)$/,
  /^metadata\.(name|uid|resourceVersion|generation|creationTimestamp|deletionTimestamp)$/,
  /^metadata\.labels\.[^.]+$/,
  /^spec\.orchestratorApiEndpoints\.caBundle$/,
  /^spec\.orchestratorApiEndpoints\.serverEndpoints\.\d+\.(clientCIDR|serverAddress)$/,
  /^status\.(type|version)$/,
  /^status\.apiAudiences\.\d+$/,
  /^status\.conditions\.\d+\.(type|status|reason|message|lastHeartbeatTime|lastTransitionTime)$/,
];

const key = fc.oneof(
  fc.constantFrom(
    'authInfo',
    'token',
    'data',
    'type',
    'caBundle',
    'activeEndpoint',
    'managedFields',
    'annotations',
    'conditions',
    '__proto__',
    'constructor',
  ),
  fc.stringMatching(/^[a-z]{1,6}$/),
);
const anything = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constant(SECRET),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(key, tie('value'), { maxKeys: 4 }),
  ),
})).value;
const fields = fc.dictionary(key, anything, { maxKeys: 5 });

/** A Cluster with arbitrary fields, and a secret in every field that is not public. */
const cluster = fc
  .record({ metadata: fields, spec: fields, status: fields, endpoints: fields, condition: fields, rest: fields })
  .map(({ metadata, spec, status, endpoints, condition, rest }) => ({
    ...rest,
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: {
      ...metadata,
      labels: { env: 'prod' },
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': SECRET },
      managedFields: [{ manager: SECRET }],
      finalizers: [SECRET],
      generation: 1,
      creationTimestamp: '2026-03-01T12:00:00Z',
      deletionTimestamp: undefined,
    },
    spec: {
      ...spec,
      authInfo: { controller: { name: SECRET }, user: { name: SECRET } },
      orchestratorApiEndpoints: {
        ...endpoints,
        caBundle: 'Y2E=',
        serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'https://a', [SECRET]: SECRET }],
      },
    },
    status: {
      ...status,
      type: 'K3s',
      version: 'v1',
      apiAudiences: ['https://kubernetes.default.svc'],
      activeEndpoint: SECRET,
      conditions: [
        { ...condition, type: 'Ready', status: 'True', reason: 'ClusterReady', message: SECRET },
        { ...condition, type: 'Authorized', status: 'False', reason: SECRET, message: SECRET, lastHeartbeatTime: SECRET },
        { ...condition, type: SECRET, status: 'True', reason: 'ClusterReady', message: 'm', lastTransitionTime: SECRET },
        { ...condition, type: 'Reachable', status: SECRET, reason: 'Responding', message: 'm' },
      ],
    },
  }));

function expectPublic(object: unknown): void {
  expect(pathsOf(object).filter((path) => !PUBLIC.some((pattern) => pattern.test(path)))).toEqual([]);
}

describe('CLUSTER_LIST.toPublic in every response', () => {
  it('returns no field outside the allow-list', async () => {
    await fc.assert(
      fc.asyncProperty(cluster, async (object) => {
        const hub = new HandHub();
        hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
        const replica = new Replica(hub);
        const put = () => hub.clusters.put('a', object as unknown as Cluster);
        const { objects, texts } = await responsesWith(replica, ADMIN, { name: 'a', put, remove: () => hub.clusters.delete('a') });
        for (const returned of objects) expectPublic(returned);
        const rejected = [
          (await replica.getOne('a', callerOf('unprivileged'))).text,
          (await replica.get('fieldSelector=spec.authInfo%3Dx', ADMIN)).text,
        ];
        for (const text of [...texts, ...rejected]) expect(text).not.toContain(SECRET);
      }),
      { numRuns: scaled({ full: 100, quick: 10 }) },
    );
  });

  it('returns only annotations under public prefixes', async () => {
    const hub = new HandHub();
    hub.grant('admin', 'all', { kind: 'User', name: 'admin' });
    const annotations = { 'public.example.com/team': 'a', 'example.com/secret': SECRET };
    hub.clusters.put('a', { metadata: { annotations }, spec: {} } as unknown as Cluster);
    const { text } = await new Replica(hub, undefined, { annotationPrefixes: ['public.example.com/'] }).get('', ADMIN);
    expect(text).toContain('"annotations":{"public.example.com/team":"a"}');
    expect(text).not.toContain(SECRET);
  });
});
