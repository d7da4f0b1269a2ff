// Purser's credential for a cluster, from the Secret that the Cluster refers to. Only the keys named here are looked at:
// a kubeconfig could run programs and read files.

import { createPrivateKey } from 'node:crypto';
import { CredentialSecretKey } from '../api/names.ts';
import type { Secret } from '../api/resources.ts';
import { isBearerToken } from '../domain/bearer-token.ts';
import { serverUrl } from '../domain/server-url.ts';
import { Sensitive } from '../std/sensitive.ts';
import { pemCertificates } from './certificates.ts';
import { IssueError } from './issue-error.ts';

/** How we say who we are. */
export type Credential =
  | { readonly type: 'token'; readonly token: Sensitive<string> }
  | { readonly type: 'certificate'; readonly certificate: string; readonly key: Sensitive<string>; readonly commonName: string };

/** Reads the token, or else the client certificate. Throws an IssueError, CredentialMissing, that says what is wrong with the Secret. */
export function readCredential(secret: Secret): Credential {
  const token = valueOf(secret, CredentialSecretKey.token);
  if (token !== undefined) return tokenCredential(token);
  const certificate = valueOf(secret, CredentialSecretKey.clientCertificate);
  const key = valueOf(secret, CredentialSecretKey.clientKey);
  if (certificate === undefined || key === undefined) throw unusable('the Secret holds neither token nor tls.crt and tls.key');
  return certificateCredential(certificate, key);
}

/** The addresses that the credential may be sent to; undefined if the Secret names none. */
export function pinnedServers(secret: Secret): readonly string[] | undefined {
  const text = valueOf(secret, CredentialSecretKey.server);
  if (text === undefined) return undefined;
  const addresses = text.split(/[\s,]+/).filter((address) => address !== '');
  return addresses.map(serverUrl).filter((server) => server !== undefined);
}

const MAX_LENGTH = 65_536;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

function valueOf({ data }: Secret, key: string): string | undefined {
  const encoded = data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
  if (encoded === undefined || encoded === '') return undefined;
  if (encoded.length > MAX_LENGTH * 2 || !BASE64.test(encoded)) throw unusable(`the key ${key} of the Secret is too long or not base64`);
  const text = Buffer.from(encoded, 'base64').toString('utf8').trim();
  if (text.length > MAX_LENGTH) throw unusable(`the key ${key} of the Secret is longer than ${MAX_LENGTH} characters`);
  return text === '' ? undefined : text;
}

function tokenCredential(token: string): Credential {
  if (!isBearerToken(token)) throw unusable('the token in the Secret has characters that no bearer token has');
  return { type: 'token', token: new Sensitive(token) };
}

function certificateCredential(certificate: string, key: string): Credential {
  const [leaf] = pemCertificates(certificate) ?? [];
  if (leaf === undefined) throw unusable('tls.crt of the Secret is not a PEM certificate');
  if (!isKeyOf(key, leaf)) throw unusable('tls.key of the Secret is not the PEM key of tls.crt');
  return { type: 'certificate', certificate, key: new Sensitive(key), commonName: leaf.toLegacyObject().subject?.CN?.toString() ?? '' };
}

function isKeyOf(key: string, leaf: { checkPrivateKey(key: ReturnType<typeof createPrivateKey>): boolean }): boolean {
  try {
    return leaf.checkPrivateKey(createPrivateKey(key));
  } catch {
    // The error would quote nothing, but says nothing to people either.
    return false;
  }
}

function unusable(detail: string): IssueError {
  return new IssueError('CredentialMissing', detail);
}
