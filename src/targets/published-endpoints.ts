// The endpoints of a registered cluster that the façade publishes. Clients take addresses and certificate authorities from the cluster
// list and send tokens there, so that users who may write Clusters must not choose them.

import type { ClusterServerEndpoint } from '../api/cluster.gen.ts';
import { isNamedHub, referredSecret, type TargetSettings } from './create-target.ts';
import { readPins } from './credential.ts';
import { pinnedEndpoints } from './endpoints.ts';
import { type HubSettings, hubEndpoints } from './hub.ts';
import { IssueError } from './issue-error.ts';
import type { RegisteredCluster } from './registered-cluster.ts';

/** Endpoints in the form of a Cluster. */
export interface PublishedEndpoints {
  /** Base64 of PEM; undefined for public certificate authorities. */
  readonly caBundle?: string | undefined;
  readonly serverEndpoints: readonly ClusterServerEndpoint[];
}

/**
 * Returns the endpoints of a Cluster if its credential pins all of them. The Cluster that --hub-cluster names has the address and the
 * certificate authority that Purser itself uses. Returns undefined for any other Cluster.
 */
export function publishedEndpoints({ cluster, credential }: RegisteredCluster, settings: TargetSettings): PublishedEndpoints | undefined {
  const controller = cluster.spec.authInfo?.controller;
  if (controller === undefined) return undefined;
  if (controller.kind === 'ServiceAccount')
    return settings.hub !== undefined && isNamedHub(cluster, settings) ? ofHub(settings.hub) : undefined;
  try {
    const pins = readPins(referredSecret(controller, credential, settings.credentialNamespaces));
    const { caBundle } = pinnedEndpoints(cluster, pins, settings.ownAddress);
    return { caBundle, serverEndpoints: cluster.spec.orchestratorApiEndpoints.serverEndpoints };
  } catch (error) {
    if (error instanceof IssueError) return undefined;
    throw error;
  }
}

/** Ranges of all clients. */
const ALL_CLIENTS = ['0.0.0.0/0', '::/0'];

function ofHub(hub: HubSettings): PublishedEndpoints {
  const { servers, caBundle } = hubEndpoints(hub);
  return {
    caBundle,
    serverEndpoints: ALL_CLIENTS.flatMap((clientCIDR) => servers.map((serverAddress) => ({ clientCIDR, serverAddress }))),
  };
}
