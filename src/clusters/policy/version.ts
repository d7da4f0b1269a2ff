// What a cluster says of its version. It may say anything: only what versions consist of gets through.

/** The version as it can be shown; undefined if nothing is left of it. */
export function versionText(gitVersion: unknown): string | undefined {
  if (typeof gitVersion !== 'string') return undefined;
  const text = gitVersion
    .slice(0, MAX_READ)
    .replace(ANSI, '')
    .replace(/[^\w.+~-]/g, '')
    .slice(0, MAX_LENGTH);
  return text === '' ? undefined : text;
}

/** The distribution that a version is of: the first whose mark it bears, Kubernetes itself for one without any. */
export function distributionOf(version: string): string {
  return DISTRIBUTIONS.find(([, mark]) => mark.test(version))?.[0] ?? 'Kubernetes';
}

const MAX_READ = 1_024;
const MAX_LENGTH = 64;
/** Sequences that terminals act on. */
// oxlint-disable-next-line no-control-regex
const ANSI = /\x1b\[[0-9;?]*[ -/]*[@-~]/g;

const DISTRIBUTIONS: readonly (readonly [string, RegExp])[] = [
  ['K3s', /[+-]k3s/],
  ['RKE2', /[+-]rke2/],
  ['k0s', /[+-]k0s/],
  ['EKS', /-eks-/],
  ['GKE', /-gke\./],
  ['AKS', /[+-]aks/],
  ['ACK', /-aliyun/],
  ['TKE', /-tke\./],
  ['IKS', /\+IKS/],
  ['Tanzu', /\+vmware/],
  ['MKE', /-mirantis/],
  // The commit that it was built from.
  ['OpenShift', /\+[0-9a-f]{7,}$/],
];
