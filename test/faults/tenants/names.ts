// Names of tenants, and of the Clusters, namespaces and service accounts that they target.

/** Clusters that the hostile writer of Clusters changes; the administrator registers them. */
export const VICTIM_CLUSTERS = ['two-prod', 'two-dev', 'hub'] as const;
/** Clusters that the hostile writer of Clusters creates. */
export const INVENTED_CLUSTERS = ['dev', 'one-copy', 'two-copy', 'shadow-1', 'shadow-2', 'purser', 'in-cluster'] as const;
export const ALL_CLUSTERS = ['one', 'two', ...VICTIM_CLUSTERS, ...INVENTED_CLUSTERS, 'missing'] as const;

/** Cluster of the hostile writer of ManagedTokens, whose API server responds slowly. */
export const SLOW_CLUSTER = 'slow';

/** Namespaces of the hostile writer of ManagedTokens; the prober skips them. */
export const HOSTILE_NAMESPACES = ['hostile-a', 'hostile-b'] as const;
/** Namespace of the hostile caller of the façade and of the hostile writer of Clusters. */
export const HOSTILE_CALLERS = 'hostile-c';
/** Namespace of well-behaved tenants on Clusters that are not attacked. */
export const POLITE = 'polite-a';
/** Namespace of well-behaved tenants whose permission the administrator withdraws and grants. */
export const GUESTS = 'polite-b';
/** Namespace of well-behaved tenants on Clusters under attack; the prober skips it. */
export const VICTIMS = 'hostile-victims';
/** Namespaces with ManagedTokenSets; the prober skips them. */
export const FLEETS = ['fleet-a', 'fleet-b'] as const;
/** Prefixes of the namespaces that the prober skips. */
export const UNPROBED = ['hostile-', 'fleet-'] as const;

/** Only service account for which hostile tenants may issue tokens, on cluster `one`. */
export const DEPLOYER = 'deployer';
/** Namespace on target `two` to which the credential of `two-dev` is restricted. */
export const SANDBOX = 'sandbox';
/** Requester in the first hostile namespace with permission for one service account. */
export const BUILDER = 'builder';

/** Namespaces of target service accounts that hostile tenants request tokens for. */
export const ACCOUNT_NAMESPACES = ['deploy', 'purser-system', 'kube-system', 'kube-public', 'default', SANDBOX, POLITE] as const;
/** Target service accounts that hostile tenants request tokens for. */
export const ACCOUNTS = [DEPLOYER, 'default', 'purser', 'one-1', 'two-1', 'polite-1', 'victim-1', 'generic-garbage-collector'] as const;
export const AUDIENCES = ['https://hub.test', 'https://kubernetes.default.svc', 'vault', 'https://elsewhere.test'] as const;
