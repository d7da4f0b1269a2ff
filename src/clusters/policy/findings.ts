// Findings about a cluster: status, reason and message of a condition. A message names the cause, then the remedy.

import { ClusterReason } from '../../api/reasons.ts';
import { cleanMessage } from '../../std/clean-message.ts';
import { sentence } from '../../std/sentence.ts';

/** The content of one condition. */
export interface Finding {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ClusterReason;
  readonly message: string;
}

/** Returns a finding with the sentence of its reason, the detail, and a remedy, by default that of the reason, unless the status is True. */
export function finding(status: Finding['status'], reason: ClusterReason, detail = '', remedy?: string): Finding {
  return findingOf(status, reason, detail === '' ? ClusterReason[reason] : `${ClusterReason[reason]}: ${cleanMessage(detail)}`, remedy);
}

/** Returns a finding with another cause in place of the reason's sentence, and possibly another remedy. */
export function findingOf(status: Finding['status'], reason: ClusterReason, cause: string, other = REMEDIES[reason]): Finding {
  const remedy = status === 'True' ? undefined : other;
  return { status, reason, message: remedy === undefined ? sentence(cause) : `${sentence(cause)} ${sentence(remedy)}` };
}

/** Returns whether two findings have the same status and reason; their messages may differ. */
export function isSameFinding(a: Pick<Finding, 'status' | 'reason'>, b: Pick<Finding, 'status' | 'reason'>): boolean {
  return a.status === b.status && a.reason === b.reason;
}

/** Returns the remedy for an expired token for a service account. */
export function renewCommand(cluster: string): string {
  return `run purser cluster renew ${cluster} --context CONTEXT, or ${NEW_CREDENTIAL}`;
}

const NEW_CREDENTIAL = 'write a new credential to the Secret that spec.authInfo.controller references';

const PROXY_URL = 'the URL in the proxy key of the Secret that spec.authInfo.controller references, or in HTTPS_PROXY';

/** Reasons of conditions whose status is True. */
type SuccessReason = 'ClusterReady' | 'Responding' | 'PermissionsGranted' | 'CredentialValid' | 'CredentialRenewalPending';

/** Remedies by reason. The compiler reports a reason that is neither here nor in SuccessReason. */
const REMEDIES: Readonly<Partial<Record<ClusterReason, string>>> = {
  CredentialExpiring: NEW_CREDENTIAL,
  CredentialExpired: NEW_CREDENTIAL,
  CredentialRenewalFailed:
    'Purser retries; if the failure persists, write a new credential to the Secret that spec.authInfo.controller references',
  CredentialRenewalForbidden:
    'apply deploy/target/access.yaml to the cluster, or allow the service account to create tokens for itself, or set spec.credential.renewal to Manual',
  CredentialRenewalUntrusted: "check that serverEndpoints points to the cluster's API server, and its service account settings",
  CredentialNotStored:
    "check that Purser may create, update and delete Secrets in the credential's namespace, and that the Secret with the suffix -renewed is neither immutable nor owned by another tool",
  CredentialNotRetired:
    'write a token that the cluster accepts to the Secret that spec.authInfo.controller references, or set spec.credential.renewal to Auto',
  CredentialNotRevoked:
    "apply deploy/target/access.yaml to the cluster, so that Purser may list and delete Secrets in its namespace there, or re-create Purser's service account with purser cluster revoke",
  ExpiryUnknown: 'keep track of the expiry yourself, or use a token that contains its expiry',
  DNSFailed: "check the host name in serverEndpoints and Purser's DNS",
  ConnectionRefused: 'check that the API server is running, and that serverEndpoints has the correct port',
  Timeout: 'check that the API server is running, and that firewalls allow connections from Purser',
  TLSVerifyFailed:
    "set caBundle to the cluster's certificate authority, and check that the certificate covers the address in serverEndpoints",
  AddressNotAllowed: 'register an https address that is neither loopback nor link-local nor that of a metadata service',
  ResponseUntrusted: 'check that serverEndpoints points to a Kubernetes API server',
  Unreachable: 'check that the API server is running, and check the network between the API server and Purser',
  ProxyUnreachable: `check that the proxy is running, and check its certificate and ${PROXY_URL}`,
  ProxyRejected: `check that the proxy allows connections to the address in serverEndpoints, and the user and password in ${PROXY_URL}`,
  CredentialMissing:
    'set spec.authInfo.controller to a Secret with the keys token (or serviceAccount, or tls.crt and tls.key), server, ca.crt and cluster',
  CredentialRejected: 'write a credential that the cluster accepts to the Secret that spec.authInfo.controller references',
  CredentialNotForCluster:
    'create the Secret that spec.authInfo.controller references, or add the name of the Cluster to the cluster key of the Secret if the Cluster may use the credential',
  EndpointNotPinned: 'add the address to the server key of the Secret if the credential may be sent there',
  CANotPinned:
    "set caBundle and the ca.crt key of the Secret to the cluster's certificate authority or, for a public one, omit caBundle and set ca.crt to the word system",
  EndpointConflict:
    'remove the address from the server key of the other Secret; to use one Secret for several Clusters, list them in its cluster key',
  HubTokenForbidden:
    'apply the output of purser print hub-rbac --service-account NAME to the hub, where NAME is the service account in the Secret',
  HubTokenFailed: "check that the service account that the Secret names exists in Purser's namespace on the hub, and that the hub responds",
  Forbidden:
    'apply deploy/target/access.yaml to the cluster, or allow the service account to create serviceaccounts/token in namespaces that ManagedTokens name',
  PermissionsUnknown: 'allow the service account to create selfsubjectreviews and selfsubjectaccessreviews, as system:basic-user does',
  NotReady: 'run kubectl get --raw /readyz?verbose on the cluster',
  Throttled: "raise the API server's limits for Purser's service account",
  NotProbed: 'see the Authorized condition',
  NoResponse: 'see the Reachable condition',
  ProbeFailed: "check Purser's log and resource limits",
} satisfies Readonly<Record<Exclude<ClusterReason, SuccessReason>, string>>;
