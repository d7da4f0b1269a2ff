// CRDs of other projects whose objects are in deploy, in the cache that `npm run kube:build` fills.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './kube-binaries.ts';

/** Go module with CRD files; `sum` is its hash as in go.sum. */
export interface CrdModule {
  readonly path: string;
  readonly version: string;
  readonly sum: string;
  readonly files: readonly string[];
}

const MONITORING = 'example/prometheus-operator-crd/monitoring.coreos.com_';
const CERT_MANAGER = 'deploy/crds/cert-manager.io_';

/** The CRD of ClusterProfiles, from the module of the programs that read them. */
export const INVENTORY_CRDS: CrdModule = {
  path: 'sigs.k8s.io/cluster-inventory-api',
  version: 'v0.1.3',
  sum: 'h1:E7GY85hOIIPdALNdTO9Cbs2PXqjotWq6afe/NTwgCJo=',
  files: ['config/crd/bases/multicluster.x-k8s.io_clusterprofiles.yaml'],
};

/** The CRD of ManagedServiceAccounts, from the module of the agent in test/bench/peers. */
export const PEER_CRDS: CrdModule = {
  path: 'open-cluster-management.io/managed-serviceaccount',
  version: 'v0.10.0',
  sum: 'h1:OBJ1EA8aaf0q8a7tBIHZT+5KdFECRKiDvoq/jqSHf1k=',
  files: ['config/crd/bases/authentication.open-cluster-management.io_managedserviceaccounts.yaml'],
};

export const CRD_MODULES: readonly CrdModule[] = [
  {
    path: 'github.com/prometheus-operator/prometheus-operator',
    version: 'v0.85.0',
    sum: 'h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=',
    files: [`${MONITORING}prometheusrules.yaml`, `${MONITORING}servicemonitors.yaml`],
  },
  {
    path: 'github.com/cert-manager/cert-manager',
    version: 'v1.21.2',
    sum: 'h1:UWgoYM+KLNtRlqmoWOKjKBOBUPVHeepQ6/ac3ERJW68=',
    files: [`${CERT_MANAGER}certificates.yaml`, `${CERT_MANAGER}issuers.yaml`],
  },
  INVENTORY_CRDS,
];

/** Returns the cache folder of a module. */
export function crdFolder({ path, version }: CrdModule): string {
  return join(cacheFolder(), 'crds', `${path.replaceAll('/', '_')}@${version}`);
}

/** Returns the cached files of a module. */
export function crdFiles(module: CrdModule): readonly string[] {
  return module.files.map((file) => join(crdFolder(module), file.slice(file.lastIndexOf('/') + 1)));
}

/** Returns true if all files of a module are cached. */
export function hasCrds(module: CrdModule): boolean {
  return crdFiles(module).every((file) => existsSync(file));
}
