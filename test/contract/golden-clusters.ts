// Clusters of the recorded lists, and their CRD.

/** Returns a CRD without validation of spec and status. */
export function definition(): object {
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  const openAPIV3Schema = { type: 'object', properties: { spec: anything, status: anything } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'clusters.registry.purser.dev' },
    spec: {
      group: 'registry.purser.dev',
      scope: 'Cluster',
      names: { plural: 'clusters', singular: 'cluster', kind: 'Cluster', listKind: 'ClusterList' },
      versions: [{ name: 'v1alpha1', served: true, storage: true, subresources: { status: {} }, schema: { openAPIV3Schema } }],
    },
  };
}

/** Returns the Cluster with this number, from 1. */
export function cluster(number: number): object {
  const labels = { env: number % 2 === 0 ? 'prod' : 'dev', region: `r${number % 3}` };
  const serverEndpoints = [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://10.0.0.${number}` }];
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: `c${String(number).padStart(2, '0')}`, labels },
    spec: { orchestratorApiEndpoints: { serverEndpoints } },
  };
}
