// The fault of a cluster that rejects tokens of the hub.

import { isClusterLocalIssuer } from '../../targets/policy/token-claims.ts';
import type { Fault } from './conditions.ts';

/** A token of the hub. */
export interface RejectedToken {
  readonly audience: string;
  /** Undefined if unknown. */
  readonly issuer: string | undefined;
}

/** Returns the fault of a cluster that rejects a token of the hub; `areKeysPublic` is false if the hub rejects anonymous reads of its keys. */
export function toFederationFault({ audience, issuer = 'unknown' }: RejectedToken, areKeysPublic: boolean): Fault {
  return {
    reason: 'CredentialRejected',
    detail: `tokens of the hub with issuer ${issuer} and audience ${audience}`,
    remedy: [
      ...(isClusterLocalIssuer(issuer) ? [OTHER_ISSUER] : []),
      ...(areKeysPublic ? [] : [PUBLISH_KEYS]),
      "compare the configuration of the cluster's API server with the output of purser print authentication-config",
    ].join('; '),
  };
}

const OTHER_ISSUER =
  "set --service-account-issuer of the hub's API server to its own URL: this issuer is the default of many clusters, and no cluster trusts its own issuer";
const PUBLISH_KEYS =
  'on the hub, bind the ClusterRole system:service-account-issuer-discovery to the group system:unauthenticated, unless the issuer publishes its keys elsewhere';
