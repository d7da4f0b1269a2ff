// A cluster that rejects tokens of the hub.

import { isClusterLocalIssuer } from '../../targets/policy/federation.ts';
import type { Fault } from './conditions.ts';

/** A token of the hub. */
export interface RejectedToken {
  readonly audience: string;
  /** Undefined if unknown. */
  readonly issuer: string | undefined;
}

/** Returns the fault of a cluster that rejects a token of the hub. */
export function toFederationFault({ audience, issuer = 'unknown' }: RejectedToken): Fault {
  return {
    reason: 'CredentialRejected',
    detail: `tokens of the hub with issuer ${issuer} and audience ${audience}`,
    remedy: isClusterLocalIssuer(issuer) ? OTHER_ISSUER : CONFIGURATION,
  };
}

const CONFIGURATION =
  "compare the configuration of the cluster's API server with the output of purser print authentication-config, and check that the API server can read the hub's discovery document and keys without authentication";
const OTHER_ISSUER = `the issuer is the default of many clusters, which a cluster with the same issuer never trusts: set --service-account-issuer of the hub's API server to its own URL, then ${CONFIGURATION}`;
