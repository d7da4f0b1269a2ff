// The certificate with which a client presented itself.

import type { TLSSocket } from 'node:tls';

export interface ClientCertificate {
  /** Whether the server's authority issued it, for clients, and it is valid now. */
  readonly trusted: boolean;
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** SHA-256 of the certificate, in lower-case hexadecimal. */
  readonly fingerprint: string;
}

/** The client's certificate, if it gave one. The server must ask for it (`requestCert`) and let it pass (`rejectUnauthorized: false`). */
export function clientCertificateOf(socket: Pick<TLSSocket, 'authorized' | 'getPeerCertificate'>): ClientCertificate | undefined {
  const { subject, fingerprint256 } = socket.getPeerCertificate();
  // Node answers with an empty object when there is none.
  if ((subject as unknown) === undefined) return undefined;
  return {
    trusted: socket.authorized,
    commonName: texts(subject.CN).at(-1) ?? '',
    organizations: texts(subject.O),
    fingerprint: fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
