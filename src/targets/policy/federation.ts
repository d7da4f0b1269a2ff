// Federation: targets that trust tokens of the hub's issuer.

import { OwnAudiencePrefix } from '../../api/names.ts';

/** Returns whether an audience is reserved for the tokens that Purser itself sends to targets. */
export function isReservedAudience(audience: string): boolean {
  return audience.startsWith(OwnAudiencePrefix);
}

/** Returns whether an issuer is a name that resolves only inside of a cluster: clusters with the same default do not trust each other. */
export function isClusterLocalIssuer(issuer: string): boolean {
  return LOCAL_ISSUER.test(URL.parse(issuer)?.hostname ?? '');
}

const LOCAL_ISSUER = /\.svc(\.cluster\.local)?$/;
