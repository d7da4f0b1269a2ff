// Kubeconfigs for several real clusters.

import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import type { RealCluster } from './real-cluster.ts';

/** Returns one kubeconfig with a context for each cluster; the first one is the current context. */
export async function mergeKubeconfigs(clusters: Readonly<Record<string, RealCluster>>): Promise<object> {
  const entries = await Promise.all(
    Object.entries(clusters).map(async ([name, cluster]) => {
      const config = parse(await readFile(await cluster.kubeconfig('admin'), 'utf8')) as Config;
      return { name, cluster: config.clusters[0].cluster, user: config.users[0].user };
    }),
  );
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(({ name, cluster }) => ({ name, cluster })),
    users: entries.map(({ name, user }) => ({ name, user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
    'current-context': entries[0]?.name,
  };
}

interface Config {
  readonly clusters: readonly [{ readonly cluster: object }];
  readonly users: readonly [{ readonly user: object }];
}
