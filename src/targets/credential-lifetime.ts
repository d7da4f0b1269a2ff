// From when until when a credential is good, as far as it says so itself.

import { pemCertificates } from './certificates.ts';
import type { Credential } from './credential.ts';
import { tokenClaims } from './policy/token-claims.ts';

/** What a credential says of its time; a JWT without an end is good for ever. */
export interface CredentialLifetime {
  readonly startsAt?: number;
  readonly expiresAt?: number;
}

/** The time of a JWT or certificate; undefined for a token that says nothing. */
export function credentialLifetime(credential: Credential): CredentialLifetime | undefined {
  if (credential.type === 'certificate') return certificateLifetime(credential.certificate);
  const claims = tokenClaims(credential.token.reveal());
  if (claims === undefined) return undefined;
  const { issuedAt, notBefore = issuedAt, expiresAt } = claims;
  return { ...(notBefore !== undefined && { startsAt: notBefore }), ...(expiresAt !== undefined && { expiresAt }) };
}

function certificateLifetime(pem: string): CredentialLifetime | undefined {
  const [leaf] = pemCertificates(pem) ?? [];
  return leaf && { startsAt: leaf.validFromDate.getTime(), expiresAt: leaf.validToDate.getTime() };
}
