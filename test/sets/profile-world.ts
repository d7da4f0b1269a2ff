// ClusterProfiles in a SetWorld: their CustomResourceDefinition, and test actions on them.

import type { ClusterProfile, ClusterProfileStatus } from '../../src/api/cluster-profile.ts';
import { ClusterProfiles, Clusters, CustomResourceDefinitions, type Stored } from '../../src/api/resources.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { systemClock } from '../../src/std/clock.ts';
import type { SetWorld } from './set-world.ts';

type Fields = Readonly<Record<string, unknown>>;

const text = { type: 'string' };
const object = (properties: Fields, required: readonly string[] = []) => ({ type: 'object', properties, required });
const list = (items: object, key?: string) => ({
  type: 'array',
  items,
  ...(key && { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] }),
});

const condition = object(
  {
    type: text,
    status: text,
    reason: { ...text, minLength: 1 },
    message: text,
    lastTransitionTime: { ...text, format: 'date-time' },
    observedGeneration: { type: 'integer', format: 'int64' },
  },
  ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
);
const extension = object({ name: text, extension: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }, [
  'name',
  'extension',
]);
const clusterFields = {
  server: text,
  'certificate-authority-data': { ...text, format: 'byte' },
  'tls-server-name': text,
  'insecure-skip-tls-verify': { type: 'boolean' },
  'proxy-url': text,
  extensions: list(extension),
};

/** Returns the CustomResourceDefinition of sigs.k8s.io/cluster-inventory-api, reduced to the fields that tests use. */
const definition = (cluster: object) => ({
  metadata: { name: 'clusterprofiles.multicluster.x-k8s.io' },
  spec: {
    group: 'multicluster.x-k8s.io',
    names: { kind: 'ClusterProfile', listKind: 'ClusterProfileList', plural: 'clusterprofiles', singular: 'clusterprofile' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: object(
            {
              apiVersion: text,
              kind: text,
              metadata: { type: 'object' },
              spec: object(
                {
                  displayName: text,
                  clusterManager: {
                    ...object({ name: text }, ['name']),
                    'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'ClusterManager is immutable' }],
                  },
                },
                ['clusterManager'],
              ),
              status: object({
                version: object({ kubernetes: text }),
                conditions: list(condition, 'type'),
                accessProviders: list(object({ name: text, cluster }, ['name']), 'name'),
              }),
            },
            ['spec'],
          ),
        },
      },
    ],
  },
});

/** Installs the CustomResourceDefinition; `added` are additional fields of the access providers' clusters. */
export async function installProfiles({ admin }: SetWorld, added: Fields = {}): Promise<void> {
  await admin.create(CustomResourceDefinitions, definition(object({ ...clusterFields, ...added }, ['server'])));
  await waitUntilServed(admin, [ClusterProfiles], { clock: systemClock, random: Math.random, signal: AbortSignal.timeout(20_000) });
}

/** Returns the ClusterProfiles of the test's namespace. */
export async function profiles({ admin, namespace }: SetWorld): Promise<readonly Stored<ClusterProfile>[]> {
  return (await admin.list(ClusterProfiles, { namespace })).items;
}

/** Waits until exactly these ClusterProfiles exist, with a status. */
export async function untilProfiles(world: SetWorld, names: readonly string[]): Promise<void> {
  await world.tokens.until(async () => {
    const found = (await profiles(world)).filter(({ status }) => status?.accessProviders !== undefined);
    return String(found.map(({ metadata }) => metadata.name).sort()) === String(names);
  });
}

/** Returns the state of the ClusterProfilesPublished condition; empty without it. */
export async function published(world: SetWorld): Promise<string> {
  const { status } = await world.get();
  const found = status?.conditions?.find(({ type }) => type === 'ClusterProfilesPublished');
  return found === undefined ? '' : `${found.status} ${found.reason}`;
}

/** Writes the status of a Cluster, as the Cluster controller does. */
export async function reportHealth({ admin }: SetWorld, name: string, health: Health): Promise<void> {
  const { status: is, reason, since, version = 'v1.36.4' } = health;
  const current = await admin.get(Clusters, { name });
  const ready = {
    type: 'Ready',
    status: is,
    reason,
    message: 'At https://10.0.0.1.',
    lastTransitionTime: since,
    lastHeartbeatTime: health.heartbeat ?? since,
  };
  await admin.updateStatus(Clusters, { ...current, status: { version, conditions: [ready] } });
}

export interface Health {
  readonly status: 'True' | 'False';
  readonly reason: string;
  /** Time of the last transition. */
  readonly since: string;
  readonly heartbeat?: string;
  readonly version?: string;
}

export function healthOf(status: ClusterProfileStatus | undefined): string {
  const [first] = status?.conditions ?? [];
  return first === undefined ? '' : `${first.type}=${first.status} ${first.reason}`;
}
