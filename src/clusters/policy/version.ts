// The version that a cluster reports, and the distribution that it belongs to.

/**
 * Returns the version that a cluster reports, without characters that cannot occur in versions; undefined if none remain. The text is
 * untrusted.
 */
export function parseVersion(gitVersion: unknown): string | undefined {
  if (typeof gitVersion !== 'string') return undefined;
  const text = gitVersion
    .slice(0, MAX_READ)
    .replace(ANSI, '')
    .replace(/[^\w.+~-]/g, '')
    .slice(0, MAX_LENGTH);
  return text === '' ? undefined : text;
}

/** Returns the distribution that a version belongs to; `Kubernetes` without a known suffix. */
export function distributionOf(version: string): string {
  return DISTRIBUTIONS.find(([, suffix]) => suffix.test(version))?.[0] ?? 'Kubernetes';
}

const MAX_READ = 1_024;
const MAX_LENGTH = 64;
/** Terminal escape sequences. */
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
  // OpenShift versions end with a commit hash.
  ['OpenShift', /\+[0-9a-f]{7,}$/],
];
