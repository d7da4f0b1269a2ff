// Clusters and credential Secrets from the hub.

import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { Secret, Stored } from '../../src/api/resources.ts';
import type { Clock } from '../../src/std/clock.ts';
import type { TargetSettings } from '../../src/targets/create-target.ts';
import type { RegisteredCluster } from '../../src/targets/registry.ts';
import { authority } from './wire-target.ts';

export interface Registration {
  readonly name?: string;
  readonly uid?: string;
  readonly generation?: number;
  /** Addresses for all clients, in this order. */
  readonly servers?: readonly string[];
  /** Certificate authority, as PEM. */
  readonly ca?: string | undefined;
  readonly caBundle?: string;
  readonly controller?: NonNullable<Cluster['spec']['authInfo']>['controller'] | null;
  readonly credential?: Stored<Secret> | null;
}

/** Namespace of credentials. */
export const CREDENTIALS = 'purser-system';
/** Purser's default token on targets. */
export const CREDENTIAL = 'opaque-credential-of-purser';

const REFERENCE = { kind: 'Secret', namespace: CREDENTIALS, name: 'credential' } as const;

/** Returns a Cluster with a credential for each of its servers. */
export function registered(options: Registration): RegisteredCluster {
  const { name = 'prod-eu', uid = 'cluster-uid', generation = 1, servers = [], ca, controller = REFERENCE } = options;
  const { credential = credentialFor(name, servers, ca) } = options;
  const { caBundle = ca && base64(ca) } = options;
  const serverEndpoints = servers.map((serverAddress) => ({ clientCIDR: '0.0.0.0/0', serverAddress }));
  const cluster: Stored<Cluster> = {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name, uid, generation, resourceVersion: '1' },
    spec: {
      orchestratorApiEndpoints: { serverEndpoints, ...(caBundle && { caBundle }) },
      ...(controller && { authInfo: { controller } }),
    },
  };
  return { cluster, credential: credential ?? undefined };
}

function credentialFor(cluster: string, servers: readonly string[], ca = 'system'): Stored<Secret> {
  return aCredential({ token: CREDENTIAL, server: servers.join('\n'), 'ca.crt': ca, cluster });
}

/**
 * Returns a credential Secret with these keys, by default for the Cluster prod-eu and the CA of wire targets; `version` is its
 * resourceVersion.
 */
export function aCredential(keys: Readonly<Record<string, string>>, version = '1'): Stored<Secret> {
  const all = { 'ca.crt': authority.certificate, cluster: 'prod-eu', ...keys };
  const data = Object.fromEntries(Object.entries(all).map(([key, value]) => [key, base64(value)]));
  return {
    metadata: { namespace: CREDENTIALS, name: 'credential', uid: 'credential-uid', resourceVersion: version },
    type: 'Opaque',
    data,
  };
}

export function settings(clock: Clock, more: Partial<TargetSettings> = {}): TargetSettings {
  return { clock, allowLoopback: true, credentialNamespaces: [CREDENTIALS], ownAddress: '127.0.0.1', ...more };
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
