// A deterministic fleet of clusters and ManagedTokens, in the form of the façade's lists.

const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

export interface Fleet {
  readonly clusters: readonly ApiObject[];
  readonly tokens: readonly ApiObject[];
}

export interface ApiObject {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion: string;
    readonly [name: string]: unknown;
  };
  readonly [name: string]: unknown;
}

const TEAMS = ['checkout', 'payments', 'search', 'identity', 'catalog', 'shipping', 'data-platform', 'observability'];
const REGIONS = ['eu-central', 'eu-west', 'us-east', 'us-west', 'ap-south'];
const STAGES = ['prod', 'staging', 'edge'];
const ACCOUNTS = ['deployer', 'argocd-manager', 'prometheus', 'backup', 'flux-reconciler'];
const LIFETIMES = [HOUR, HOUR, HOUR, 2 * HOUR, 8 * HOUR, DAY, 30 * DAY];

/** Returns the fleet at a time. In fleets of the same size, the same index always has the same name, cluster and problem. */
export function fleetAt(now: number, sizes: { readonly clusters: number; readonly tokens: number }): Fleet {
  return {
    clusters: Array.from({ length: sizes.clusters }, (_, index) => clusterAt(index, now)),
    tokens: Array.from({ length: sizes.tokens }, (_, index) => tokenAt(index, now, { clusters: sizes.clusters })),
  };
}

function clusterName(index: number): string {
  const round = Math.floor(index / (REGIONS.length * STAGES.length));
  const name = `${STAGES[index % STAGES.length]}-${REGIONS[Math.floor(index / STAGES.length) % REGIONS.length]}`;
  return round === 0 ? name : `${name}-${round + 1}`;
}

function clusterAt(index: number, now: number): ApiObject {
  const isUnreachable = index === 4;
  const isExpiring = index === 7;
  const condition = (type: string, [status, reason]: readonly [string, string], message: string, sinceMs: number) => ({
    type,
    status,
    reason,
    message,
    lastTransitionTime: timeOf(now - sinceMs),
    lastHeartbeatTime: timeOf(now - 30_000),
  });
  const timeout = 'The cluster does not respond in time.';
  const conditions = [
    isUnreachable
      ? condition('Ready', ['False', 'Timeout'], timeout, 42 * MINUTE)
      : condition('Ready', ['True', 'ClusterReady'], 'Tokens can be issued for the cluster.', 9 * DAY),
    isUnreachable
      ? condition('Reachable', ['False', 'Timeout'], timeout, 42 * MINUTE)
      : condition('Reachable', ['True', 'Responding'], "The cluster's API server responds.", 9 * DAY),
    isUnreachable
      ? condition(
          'Authorized',
          ['Unknown', 'NoResponse'],
          'The cluster is not reachable, so permissions could not be reviewed.',
          42 * MINUTE,
        )
      : condition(
          'Authorized',
          ['True', 'PermissionsGranted'],
          "The cluster accepts Purser's credential and permits it to issue tokens.",
          9 * DAY,
        ),
    isExpiring
      ? condition('CredentialFresh', ['False', 'CredentialExpiring'], "Purser's credential expires soon.", 3 * HOUR)
      : condition('CredentialFresh', ['True', 'CredentialValid'], "Purser's credential is valid and does not expire soon.", 9 * DAY),
  ];
  const name = clusterName(index);
  const [stage = '', ...region] = name.split('-');
  return {
    apiVersion: 'registry.purser.dev/v1alpha1',
    kind: 'Cluster',
    metadata: {
      name,
      resourceVersion: '1000',
      uid: uidOf(index),
      creationTimestamp: timeOf(now - 90 * DAY),
      labels: { env: stage, region: region.join('-') },
    },
    spec: {
      orchestratorApiEndpoints: { serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: `https://${name}.example.com:6443` }] },
    },
    status: { type: index % 4 === 0 ? 'EKS' : 'Kubernetes', version: index % 5 === 3 ? 'v1.35.6' : 'v1.36.4', conditions },
  };
}

/** Returns the ManagedToken with an index. `generation` counts its rotations since the start. */
export function tokenAt(
  index: number,
  now: number,
  { clusters, generation = 0 }: { readonly clusters: number; readonly generation?: number },
): ApiObject {
  const namespace = TEAMS[index % TEAMS.length] ?? '';
  const account = ACCOUNTS[index % ACCOUNTS.length] ?? '';
  const cluster = clusterName((index * 7) % clusters);
  const name = `${account}-${cluster}${index < 120 ? '' : `-${index}`}`;
  const lifetime = LIFETIMES[(index * 5) % LIFETIMES.length] ?? HOUR;
  const age = generation > 0 ? 1_000 : lifetime * (((index * 37) % 78) / 100);
  const issuedAt = now - age;
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: {
      name,
      namespace,
      resourceVersion: '1000',
      uid: uidOf(100_000 + index),
      generation: 1,
      creationTimestamp: timeOf(now - 60 * DAY),
    },
    spec: {
      clusterName: cluster,
      serviceAccount: { namespace: 'deploy', name: account },
      expirationSeconds: lifetime / 1_000,
      requesterServiceAccountName: 'ci',
      rotation: { renewBefore: '20%', suspend: index % 97 === 11 },
      secret: { name: `${name}-token`, outputs: ['Token', 'Kubeconfig'] },
      revocation: index % 3 === 0 ? 'BoundSecret' : 'None',
    },
    status: {
      ...statusAt(index, { cluster, namespace, name, account }, { now, issuedAt, lifetime }),
      rotations: 12 + (index % 300) + generation,
    },
  };
}

interface Names {
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly account: string;
}

function statusAt(
  index: number,
  names: Names,
  { now, issuedAt, lifetime }: { readonly now: number; readonly issuedAt: number; readonly lifetime: number },
) {
  const { cluster, namespace, account, name } = names;
  const isSuspended = index % 97 === 11;
  const times = (from: number) => ({
    issuedAt: timeOf(from),
    expirationTimestamp: timeOf(from + lifetime),
    ...(!isSuspended && { nextRotationTime: timeOf(from + lifetime * 0.78) }),
    secretName: `${name}-token`,
    credentialID: `JTI=${uidOf(200_000 + index)}`,
  });
  const ready = (status: string, reason: string, message: string, sinceMs: number) => ({
    type: 'Ready',
    status,
    reason,
    message,
    lastTransitionTime: timeOf(now - sinceMs),
  });
  const issued = ready('True', 'Issued', 'The Secret holds a valid token for this spec.', 12 * DAY);
  const failing = (reason: string, message: string, sinceMs: number) => ({
    type: 'RotationFailing',
    status: 'True',
    reason,
    message,
    lastTransitionTime: timeOf(now - sinceMs),
  });
  const unreachable = `The cluster did not respond in time. An administrator can find the cause in the conditions of Cluster ${cluster} or in Purser's log.`;
  if (cluster === clusterName(4)) return { ...times(issuedAt), conditions: [issued, failing('ClusterTimeout', unreachable, 41 * MINUTE)] };
  if (index === 3) {
    const forbidden = `User "system:serviceaccount:${namespace}:ci" cannot issue clusters/token "${cluster}/deploy/${account}" in registry.purser.dev. Grant the permission with a ClusterRole and a ClusterRoleBinding, or change the spec.`;
    return { conditions: [ready('False', 'Forbidden', forbidden, 25 * MINUTE)] };
  }
  if (index === 10) {
    const missing = `Service account deploy/${account} was not found on cluster ${cluster}. Create it there, or change spec.serviceAccount.`;
    return { ...times(now - lifetime * 0.9), conditions: [issued, failing('ServiceAccountNotFound', missing, 18 * MINUTE)] };
  }
  if (index === 17) {
    const conflict = `The ManagedToken does not own Secret ${name}-token. Delete the Secret, or choose another spec.secret.name.`;
    return { conditions: [ready('False', 'SecretConflict', conflict, 3 * HOUR)] };
  }
  if (index === 23) {
    const rejected = 'The cluster rejected the request. The conditions of the Cluster show the cause to administrators.';
    return {
      ...times(now - lifetime - 22 * MINUTE),
      conditions: [
        ready('False', 'Expired', 'The token expired before it was renewed.', 22 * MINUTE),
        failing('RequestRejected', rejected, 80 * MINUTE),
      ],
    };
  }
  return { ...times(issuedAt), conditions: [issued, { ...failing('Issued', 'The last rotation succeeded.', 12 * DAY), status: 'False' }] };
}

function timeOf(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

function uidOf(index: number): string {
  return `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
}
