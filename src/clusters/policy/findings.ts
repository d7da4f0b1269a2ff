// What was found out about one aspect of a cluster, in words that say what to do.

import { ClusterReason } from '../../api/reasons.ts';
import { cleanedMessage } from '../../std/clean-message.ts';
import { sentence } from '../../std/sentence.ts';

/** One aspect as a condition shows it. */
export interface Finding {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: ClusterReason;
  readonly message: string;
}

/** A finding whose message says what the reason means, the detail, and what to do about it. */
export function finding(status: Finding['status'], reason: ClusterReason, detail = ''): Finding {
  const what = detail === '' ? ClusterReason[reason] : `${ClusterReason[reason]}: ${cleanedMessage(detail)}`;
  const remedy = status === 'True' ? undefined : REMEDIES[reason];
  return {
    status,
    reason,
    message: [what, remedy]
      .filter((text) => text !== undefined)
      .map(sentence)
      .join(' '),
  };
}

/** Whether two findings say the same, however they put it. */
export function isSameFinding(a: Pick<Finding, 'status' | 'reason'>, b: Pick<Finding, 'status' | 'reason'>): boolean {
  return a.status === b.status && a.reason === b.reason;
}

const REMEDIES: Readonly<Partial<Record<ClusterReason, string>>> = {
  CredentialExpiring: 'put a new credential into the Secret that spec.authInfo.controller names',
  CredentialExpired: 'put a new credential into the Secret that spec.authInfo.controller names',
  DNSFailed: 'check the host name in serverEndpoints, and the DNS that Purser uses',
  ConnectionRefused: 'check that the API server runs, and the port in serverEndpoints',
  Timeout: 'check that the API server runs, and that firewalls let Purser reach it',
  TLSVerifyFailed: "check that caBundle is the cluster's, and that its certificate names the address in serverEndpoints",
  AddressRefused: 'register an https address that is not of this machine, its link or its cloud',
  AnswerUntrusted: 'check that serverEndpoints leads to a Kubernetes API server',
  Unreachable: 'check that the API server runs, and the network between it and Purser',
  CredentialMissing: 'let spec.authInfo.controller name a Secret with the keys token (or tls.crt and tls.key), server, ca.crt and cluster',
  CredentialRejected: 'put a credential that the cluster accepts into the Secret that spec.authInfo.controller names',
  CredentialNotForCluster: 'add the name of the Cluster to the key cluster of the Secret if the Cluster may use the credential',
  EndpointNotPinned: 'add the address to the key server of the Secret if the credential may be sent there',
  CANotPinned: 'add the certificate to the key ca.crt of the Secret if it is the authority of the cluster',
  Forbidden:
    'apply deploy/target/access.yaml to the cluster, or let the account create serviceaccounts/token in namespaces that ManagedTokens name',
  RightsUnknown: 'let the account create selfsubjectreviews and selfsubjectaccessreviews, as system:basic-user does',
  NotReady: 'look at /readyz?verbose of the cluster',
  Throttled: 'raise the limits of the API server for the account of Purser',
  ProbeFailed: 'look at the log and the limits of Purser',
};
