// Reads Purser's credential for a cluster, and its permitted uses, from the Secret that the Cluster refers to. The Secret contains the
// credential, or names a service account on the hub, which issues one token of this service account for each address. Purser reads no other
// keys of the Secret, such as a kubeconfig, which could run programs and read files.

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { CredentialSecretKey, OwnAnchorPrefix, OwnAudiencePrefix, OwnServiceAccounts, SystemAuthorities } from '../api/names.ts';
import type { Secret, Stored } from '../api/resources.ts';
import type { BearerTokenSource } from '../kube/credentials.ts';
import { isBearerToken } from '../kubernetes/bearer-token.ts';
import { validateDns1123Subdomain } from '../kubernetes/names.ts';
import { parseServiceAccountNamespace } from '../kubernetes/service-account.ts';
import { computeDigest } from '../std/digest.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { Sensitive } from '../std/sensitive.ts';
import { IssueError } from './issue-error.ts';
import { normalizeServer } from './policy/registration.ts';
import type { TokenInUse } from './policy/renewal.ts';
import { parseRenewal, type RenewalRecord } from './policy/renewed-secret.ts';
import { parseTokenClaims } from './policy/token-claims.ts';

/** Purser's bearer token or client certificate for a target, as stored in a Secret. */
export type StoredCredential =
  | { readonly type: 'token'; readonly token: Sensitive<string> }
  | { readonly type: 'certificate'; readonly certificate: string; readonly key: Sensitive<string>; readonly commonName: string };

/** A service account on the hub, whose tokens the target accepts. */
export interface ServiceAccountCredential {
  readonly type: 'serviceAccount';
  /** Name of the service account in Purser's namespace. */
  readonly name: string;
  /** Audiences of the tokens, by address as `normalizeServer` returns it. A token for one address is not valid at another. */
  readonly audiences: ReadonlyMap<string, string>;
}

/** Times of a token issued by the hub, by Purser's clock, in milliseconds since the epoch. */
export interface HubTokenTimes {
  readonly issuedAt: number;
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** Source of the tokens of a service account on the hub that are valid at one address of a target. */
export interface AddressToken extends BearerTokenSource {
  readonly audience: string;
  /** Issuer of the token in use; undefined if unknown. */
  readonly issuer: string | undefined;
  /** Times of the last token, even after its expiry; undefined before the first token. */
  readonly times: HubTokenTimes | undefined;
  /** Failure of the last request to the hub; undefined after a success. */
  readonly failure: IssueError | undefined;
}

/** The credential that requests to a target use. */
export type TargetCredential =
  | StoredCredential
  /** Sources of tokens from the hub, by address as `normalizeServer` returns it. */
  | { readonly type: 'serviceAccount'; readonly tokens: ReadonlyMap<string, AddressToken> };

/** A credential as its Secret states it. */
export type Credential = StoredCredential | ServiceAccountCredential;

/** Uses of a credential that its Secret allows. A Secret without the key server, or without ca.crt, allows no connection. */
export interface Pins {
  /** Addresses, normalized by `normalizeServer`. */
  readonly servers: readonly string[];
  /** SHA-256 fingerprints of certificate authorities, or `system` for public ones. */
  readonly authorities: ReadonlySet<string> | typeof SystemAuthorities;
  /** Namespaces of the service accounts that tokens may be issued for; undefined for all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  /** URL of the proxy for all connections, possibly with a password; undefined for the proxy of the environment. */
  readonly proxy?: Sensitive<string>;
}

/** Returns whether a Secret names a service account on the hub in place of a stored credential. */
export function isFederated(secret: Secret): boolean {
  return hasKey(secret, CredentialSecretKey.serviceAccount);
}

/** Reads the service account, token or client certificate. Throws an IssueError with the reason CredentialMissing if none is usable. */
export function readCredential(secret: Secret): Credential {
  if (isFederated(secret)) return toServiceAccountCredential(secret);
  const token = decodeValue(secret, CredentialSecretKey.token);
  if (token !== undefined) return toTokenCredential(token);
  const certificate = decodeValue(secret, CredentialSecretKey.clientCertificate);
  const key = decodeValue(secret, CredentialSecretKey.clientKey);
  if (certificate === undefined || key === undefined)
    throw credentialMissing('the Secret contains no complete credential. Add the key token or serviceAccount, or both tls.crt and tls.key');
  return toCertificateCredential(certificate, key);
}

/** A renewed token with its record. */
export interface RenewedToken {
  readonly token: Sensitive<string>;
  readonly record: RenewalRecord;
}

/**
 * Returns the renewed token of a registered Secret; undefined if `renewed` belongs to another Secret, was edited or retired, or replaces a
 * token other than the registered one: a new token in the registered Secret takes precedence. A registered token that had expired before
 * the renewal is not new: another tool has probably reverted the registered Secret. Throws an IssueError with the reason CredentialMissing
 * if the token key of the registered Secret is unreadable.
 */
export function readRenewed(registered: Stored<Secret>, renewed: Secret | undefined): RenewedToken | undefined {
  const record = renewed && parseRenewal(renewed, registered.metadata.uid);
  const text = decodeValue(registered, CredentialSecretKey.token);
  if (renewed === undefined || record === undefined || text === undefined) return undefined;
  if (computeDigest(text) !== record.registeredDigest && !isExpiredAt(text, record.renewedAt)) return undefined;
  const token = readRenewedText(renewed);
  return token !== undefined && computeDigest(token) === record.tokenDigest ? { token: new Sensitive(token), record } : undefined;
}

/** Returns whether a JWT expires at or before a time; false for a token whose expiry is unknown. */
function isExpiredAt(token: string, at: number): boolean {
  return (parseTokenClaims(token)?.expiresAt ?? Infinity) <= at;
}

/**
 * Returns the credential in use: the renewed token, or else the credential in the registered Secret. Throws an IssueError with the reason
 * CredentialMissing if neither is usable.
 */
export function readCredentialInUse(registered: Stored<Secret>, renewed: Secret | undefined): Credential {
  const found = readRenewed(registered, renewed);
  return found === undefined ? readCredential(registered) : { type: 'token', token: found.token };
}

/**
 * Returns the token in use, to compute the time of its renewal; undefined if the credential is a client certificate, a service account on
 * the hub, or a JWT that does not belong to a service account. Throws an IssueError with the reason CredentialMissing if neither Secret
 * contains a usable credential.
 */
export function readTokenInUse(registered: Stored<Secret>, renewed: Secret | undefined): TokenInUse | undefined {
  const found = readRenewed(registered, renewed);
  if (found !== undefined) {
    const { tokenDigest: digest, renewedAt: issuedAt, expiresAt } = found.record;
    return { digest, isSupplied: false, issuedAt, expiresAt, audiences: parseTokenClaims(found.token.reveal())?.audiences };
  }
  const credential = readCredential(registered);
  if (credential.type !== 'token') return undefined;
  const text = credential.token.reveal();
  const claims = parseTokenClaims(text);
  if (claims !== undefined && parseServiceAccountNamespace(claims.subject ?? '') === undefined) return undefined;
  const isOwn = claims?.boundSecretName?.startsWith(OwnAnchorPrefix) === true;
  const { issuedAt, expiresAt, audiences } = claims ?? {};
  return { digest: computeDigest(text), isSupplied: !isOwn, issuedAt, expiresAt, audiences };
}

/** Returns the addresses in a Secret, normalized by `normalizeServer`; none if the server key is missing or unreadable. */
export function readAddresses(secret: Secret): readonly string[] {
  return readOrUndefined(() => parseServers(secret)) ?? [];
}

/** Reads the permitted uses of the credential. Throws an IssueError with the reason CredentialMissing for an unreadable or invalid key. */
export function readPins(secret: Secret): Pins {
  return {
    servers: parseServers(secret),
    authorities: parseAuthorities(secret),
    // A key without any namespace allows none, so that a mistake does not extend the permitted uses of the credential.
    namespaces: hasKey(secret, CredentialSecretKey.namespaces) ? parseWords(secret, CredentialSecretKey.namespaces) : undefined,
    // A blank proxy key is treated as a mistake, not as a request for a direct connection.
    ...(hasKey(secret, CredentialSecretKey.proxy) && { proxy: parseProxy(decodeValue(secret, CredentialSecretKey.proxy)) }),
  };
}

function parseServers(secret: Secret): readonly string[] {
  return parseWords(secret, CredentialSecretKey.server)
    .map(normalizeServer)
    .filter((server) => server !== undefined);
}

/** Returns the names of the Clusters that the credential is for; none if the cluster key is missing or unreadable. */
export function readClusterNames(secret: Secret): readonly string[] {
  return readOrUndefined(() => parseWords(secret, CredentialSecretKey.cluster)) ?? [];
}

/** Period in which a credential is valid, in milliseconds since the epoch; a time that a JWT does not contain is absent. */
export interface CredentialLifetime {
  readonly startsAt?: number;
  readonly expiresAt?: number;
}

/** Returns the period of validity in a JWT or certificate; undefined for a token that is not a JWT. */
export function readCredentialLifetime(credential: StoredCredential): CredentialLifetime | undefined {
  if (credential.type === 'certificate') return readCertificateLifetime(credential.certificate);
  const claims = parseTokenClaims(credential.token.reveal());
  if (claims === undefined) return undefined;
  const { issuedAt, notBefore = issuedAt, expiresAt } = claims;
  return omitUndefined({ startsAt: notBefore, expiresAt });
}

/** Parses PEM. Returns undefined if the text is too long, contains no certificate or an invalid one, or contains another PEM block. */
function parseCertificates(text: string): readonly X509Certificate[] | undefined {
  if (text.length > MAX_CA_LENGTH) return undefined;
  const blocks = text.match(PEM_BLOCK) ?? [];
  const rest = text.replace(PEM_BLOCK, '');
  if (blocks.length === 0 || rest.includes('-----')) return undefined;
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch {
    return undefined;
  }
}

/** Parses a Cluster's caBundle: base64-encoded PEM, with or without line breaks. Returns undefined for anything else. */
export function parseBundle(caBundle: string): readonly X509Certificate[] | undefined {
  const base64 = caBundle.replace(/\s/g, '');
  if (base64.length > MAX_CA_LENGTH || !BASE64.test(base64)) return undefined;
  return parseCertificates(Buffer.from(base64, 'base64').toString('utf8'));
}

/** Maximum length of the value of a key other than ca.crt, in characters. */
const MAX_VALUE_LENGTH = 65_536;
/** Maximum length of certificate authorities, in characters. */
const MAX_CA_LENGTH = 524_288;
const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[\sA-Za-z0-9+/=]+-----END CERTIFICATE-----/g;
const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

function hasKey({ data }: Secret, key: string): boolean {
  return data !== undefined && Object.hasOwn(data, key);
}

function decodeValue(secret: Secret, key: string, maxLength = MAX_VALUE_LENGTH): string | undefined {
  const encoded = hasKey(secret, key) ? secret.data?.[key] : undefined;
  if (encoded === undefined || encoded === '') return undefined;
  if (encoded.length > maxLength * 2 || !BASE64.test(encoded))
    throw credentialMissing(`the ${key} key of the Secret is too long or not base64`);
  const text = Buffer.from(encoded, 'base64').toString('utf8').trim();
  if (text.length > maxLength) throw credentialMissing(`the ${key} key of the Secret is longer than ${maxLength} characters`);
  return text === '' ? undefined : text;
}

/** Returns the words of a key, which are separated by whitespace or commas. */
function parseWords(secret: Secret, key: string): readonly string[] {
  return (
    decodeValue(secret, key)
      ?.split(/[\s,]+/)
      .filter((word) => word !== '') ?? []
  );
}

function parseAuthorities(secret: Secret): Pins['authorities'] {
  const text = decodeValue(secret, CredentialSecretKey.authority, MAX_CA_LENGTH);
  if (text === undefined) return new Set();
  if (text === SystemAuthorities) return SystemAuthorities;
  const certificates = parseCertificates(text);
  if (certificates === undefined)
    throw credentialMissing(`ca.crt of the Secret must contain only PEM certificates, or the word ${SystemAuthorities}`);
  return new Set(certificates.map(({ fingerprint256 }) => fingerprint256));
}

/** Returns the token in a renewed Secret; undefined if the Secret contains no valid bearer token. */
function readRenewedText(renewed: Secret): string | undefined {
  const text = readOrUndefined(() => decodeValue(renewed, CredentialSecretKey.token));
  return text !== undefined && isBearerToken(text) ? text : undefined;
}

/** Returns the result of `read`; undefined if `read` throws an IssueError for an unreadable key. */
function readOrUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof IssueError) return undefined;
    throw error;
  }
}

/** Parses the URL of a proxy. The errors do not contain the URL, which may contain a password. */
function parseProxy(text = ''): Sensitive<string> {
  const url = PROXY.test(text) ? URL.parse(text) : null;
  const login = url === null ? '' : url.username + url.password;
  if (url === null || !isDecodable(login)) throw credentialMissing(PROXY_FORM);
  if (url.protocol === 'http:' && login !== '') throw credentialMissing(PROXY_PASSWORD);
  return new Sensitive(url.href);
}

/** Pattern of the URL of a proxy: scheme, optional user and password, host and port, without path, query or fragment. */
const PROXY = /^https?:\/\/([^\s/\\?#@]+@)?[^\s/\\?#@]+\/?$/i;
const PROXY_FORM = 'the proxy key of the Secret is not the URL of a proxy, such as https://proxy.example.com:3128';
const PROXY_PASSWORD = 'the proxy key of the Secret contains a user or password, so the URL must start with https';

/** Returns whether percent-encoding is valid. */
function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== undefined;
  } catch {
    return false;
  }
}

/** Keys of stored credentials, which a Secret with the key serviceAccount must not contain. */
const STORED_KEYS = [CredentialSecretKey.token, CredentialSecretKey.clientCertificate, CredentialSecretKey.clientKey];

function toServiceAccountCredential(secret: Secret): ServiceAccountCredential {
  const stored = STORED_KEYS.find((key) => hasKey(secret, key));
  if (stored !== undefined) throw credentialMissing(`the Secret contains both serviceAccount and ${stored}. Remove one of these keys`);
  const name = decodeValue(secret, CredentialSecretKey.serviceAccount) ?? '';
  if (validateDns1123Subdomain(name).length > 0)
    throw credentialMissing(
      "the serviceAccount key of the Secret is not a valid name. Set it to the name of a service account in Purser's namespace",
    );
  if (OwnServiceAccounts.includes(name)) throw ownServiceAccountError(name);
  return { type: 'serviceAccount', name, audiences: toAudiences(secret) };
}

/** Returns the error for a Secret that names Purser's own service account. */
export function ownServiceAccountError(name: string): IssueError {
  return credentialMissing(
    `the serviceAccount key of the Secret names Purser's own service account, ${name}. Use another one, without permissions on the hub`,
  );
}

/**
 * Returns the audiences by address. An audience contains the address as the Secret spells it; of two spellings of one address, the first
 * applies.
 */
function toAudiences(secret: Secret): ReadonlyMap<string, string> {
  const audiences = new Map<string, string>();
  for (const spelling of parseWords(secret, CredentialSecretKey.server)) {
    const server = normalizeServer(spelling);
    if (server !== undefined && !audiences.has(server)) audiences.set(server, `${OwnAudiencePrefix}${spelling}`);
  }
  return audiences;
}

function toTokenCredential(token: string): StoredCredential {
  if (!isBearerToken(token)) throw credentialMissing('the token in the Secret contains characters that are not allowed in bearer tokens');
  return { type: 'token', token: new Sensitive(token) };
}

function toCertificateCredential(certificate: string, key: string): StoredCredential {
  const [leaf] = parseCertificates(certificate) ?? [];
  if (leaf === undefined) throw credentialMissing('tls.crt of the Secret is not a PEM certificate');
  if (!isKeyOf(key, leaf)) throw credentialMissing('tls.key of the Secret is not the PEM private key of tls.crt');
  return { type: 'certificate', certificate, key: new Sensitive(key), commonName: leaf.toLegacyObject().subject?.CN?.toString() ?? '' };
}

function isKeyOf(key: string, leaf: { checkPrivateKey(key: ReturnType<typeof createPrivateKey>): boolean }): boolean {
  try {
    return leaf.checkPrivateKey(createPrivateKey(key));
  } catch {
    // The parser's message would not help operators.
    return false;
  }
}

function credentialMissing(detail: string): IssueError {
  return new IssueError('CredentialMissing', detail);
}

function readCertificateLifetime(pem: string): CredentialLifetime | undefined {
  const [leaf] = parseCertificates(pem) ?? [];
  return leaf && { startsAt: leaf.validFromDate.getTime(), expiresAt: leaf.validToDate.getTime() };
}

/**
 * Returns the token that is sent to an address; undefined for a client certificate, without a credential, and if Purser has no valid token
 * from the hub for the address.
 */
export function selectToken(credential: TargetCredential | undefined, server: string): Sensitive<string> | undefined {
  if (credential?.type === 'token') return credential.token;
  return credential?.type === 'serviceAccount' ? credential.tokens.get(server)?.current : undefined;
}

/** Returns all bearer tokens of a credential, to redact them. */
export function secretsOf(credential: TargetCredential | undefined): readonly string[] {
  if (credential?.type === 'token') return [credential.token.reveal()];
  if (credential?.type !== 'serviceAccount') return [];
  return [...credential.tokens.values()].flatMap(({ current }) => current?.reveal() ?? []);
}
