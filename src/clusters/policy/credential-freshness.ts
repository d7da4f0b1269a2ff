// Whether Purser's credential for a cluster is far from its end.

import { instantText } from '../../std/instant.ts';
import { type Finding, finding } from './findings.ts';

/** From when until when a credential is good; without an end, for ever. */
export interface Validity {
  readonly startsAt?: number | undefined;
  readonly expiresAt?: number | undefined;
}

/** The finding on a credential's time; `validity` is undefined if the credential says nothing of it. */
export function credentialFreshness(validity: Validity | undefined, now: number): Finding {
  if (validity === undefined) return finding('Unknown', 'ExpiryUnknown');
  const { expiresAt } = validity;
  if (expiresAt === undefined) return finding('True', 'CredentialValid', 'it does not expire');
  const end = instantText(expiresAt);
  if (expiresAt <= now) return finding('False', 'CredentialExpired', `it was valid until ${end}`);
  const detail = `it is valid until ${end}`;
  return expiresAt - now <= warningMs(validity)
    ? finding('False', 'CredentialExpiring', detail)
    : finding('True', 'CredentialValid', detail);
}

const WARNING_SHARE = 0.2;
const LONGEST_WARNING_MS = 30 * 24 * 3_600_000;

/** How long ahead of its end: a fifth of the lifetime, and no more than a month. */
function warningMs({ startsAt, expiresAt = 0 }: Validity): number {
  if (startsAt === undefined) return LONGEST_WARNING_MS;
  return Math.min(Math.max(expiresAt - startsAt, 0) * WARNING_SHARE, LONGEST_WARNING_MS);
}
