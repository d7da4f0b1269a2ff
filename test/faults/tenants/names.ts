// Names of the tenants' world: who the tenants are, and the Clusters, namespaces and service accounts that they go for.

/** Clusters that the hostile writer of Clusters changes; `two-prod`, `two-dev` and `hub` are registered by the administrator. */
export const VICTIM_CLUSTERS = ['two-prod', 'two-dev', 'hub'] as const;
/** Clusters that the hostile writer of Clusters invents. */
export const INVENTED_CLUSTERS = ['dev', 'one-copy', 'two-copy', 'shadow-1', 'shadow-2', 'purser', 'in-cluster'] as const;
export const ALL_CLUSTERS = ['one', 'two', ...VICTIM_CLUSTERS, ...INVENTED_CLUSTERS, 'missing'] as const;

/** Namespaces that the hostile writer of ManagedTokens owns; the prober leaves them out. */
export const HOSTILE_NAMESPACES = ['hostile-a', 'hostile-b'] as const;
/** Namespace of the hostile façade caller and of the hostile writer of Clusters. */
export const HOSTILE_CALLERS = 'hostile-c';
/** Namespace of polite tenants on clusters that the attackers leave alone. */
export const POLITE = 'polite-a';
/** Namespace of polite tenants whose permission the administrator withdraws and restores. */
export const GUESTS = 'polite-b';
/** Namespace of polite tenants on Clusters under attack; the prober leaves it out. */
export const VICTIMS = 'hostile-victims';
/** Prefix of the namespaces that the prober leaves out. */
export const UNPROBED = 'hostile-';

/** The one service account that the hostile tenants may have tokens for, on cluster `one`. */
export const DEPLOYER = 'deployer';
/** Namespace on target `two` that the credential of `two-dev` is limited to. */
export const SANDBOX = 'sandbox';
/** Requester in the first hostile namespace with permission for one service account. */
export const BUILDER = 'builder';

/** Namespaces of target service accounts that hostile tenants ask for. */
export const ACCOUNT_NAMESPACES = ['deploy', 'purser-system', 'kube-system', 'kube-public', 'default', SANDBOX, POLITE] as const;
/** Target service accounts that hostile tenants ask for. */
export const ACCOUNTS = [DEPLOYER, 'default', 'purser', 'one-1', 'two-1', 'polite-1', 'victim-1', 'generic-garbage-collector'] as const;
export const AUDIENCES = ['https://hub.test', 'https://kubernetes.default.svc', 'vault', 'https://elsewhere.test'] as const;
