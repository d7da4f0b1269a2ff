// What a server is known by and keeps for ever: its certificate authority and the key that signs tokens.

import { type Certificate, createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../src/std/x509/certificates.ts';
import { generateSigningKey, parseSigningKey, type SigningKey } from './access/signing-key.ts';
import type { Journal } from './storage/journal.ts';

export interface Identity {
  readonly authority: Certificate;
  readonly signingKey: SigningKey;
  /** The certificate of the TLS socket; made anew at each start. */
  readonly serving: Certificate;
}

/** The identity that belongs to a data folder, made on first use. */
export async function identityOf(journal: Journal, now: number): Promise<Identity> {
  const authority = JSON.parse(journal.kept('authority') ?? journal.keep('authority', JSON.stringify(createAuthority(now)))) as Certificate;
  const signingKey = parseSigningKey(journal.kept('signing-key') ?? journal.keep('signing-key', await generateSigningKey()));
  return { authority, signingKey, serving: issueServerCertificate(authority, LOOPBACK_NAMES, now) };
}
