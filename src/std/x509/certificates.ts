// Certificates as PEM: a self-signed certificate authority, server certificates and client certificates. The caller stores and renews them.

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  type X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import {
  encodeBitString,
  encodeContextTag,
  encodeInteger,
  encodeObjectIdentifier,
  encodeOctetString,
  encodeSequence,
  encodeSet,
  encodeTime,
  encodeTrue,
  encodeUtf8String,
} from './der.ts';

/** A certificate with its private key, both as PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
  readonly expiresAt: number;
}

/** Subject of a certificate: common name and organizations. Only client certificates have organizations. */
export interface CertificateSubject {
  readonly name: string;
  readonly groups: readonly string[];
}

/** DNS names and IP addresses of a server on loopback, including the DNS names of the Service `kubernetes`. */
export const LOOPBACK_NAMES: readonly string[] = [
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  '127.0.0.1',
  '::1',
];

/** Creates a self-signed certificate authority, valid for ten years. */
export function createAuthority(now: number): Certificate {
  const keys = createKeys();
  const expiresAt = now + 10 * YEAR_MS;
  const draft = { subject: AUTHORITY, publicKey: keys.publicKey, expiresAt, extensions: AUTHORITY_EXTENSIONS };
  return { certificate: signCertificate(draft, keys, now), key: encodePrivateKey(keys.privateKey), expiresAt };
}

/**
 * Returns whether `createAuthority` created the certificate. Other tools may choose the same name, but derive the identifier of the key
 * differently.
 */
export function isAuthority(certificate: X509Certificate): boolean {
  return certificate.ca && certificate.subject === AUTHORITY_NAME && isIssuedByAuthority(certificate, certificate.publicKey);
}

/** Returns whether this module issued the certificate with the private key that belongs to the public key `authorityKey`. */
export function isIssuedByAuthority(certificate: X509Certificate, authorityKey: KeyObject): boolean {
  return certificate.issuer === AUTHORITY_NAME && certificate.raw.includes(computeKeyId(authorityKey)) && certificate.verify(authorityKey);
}

/** Issues a certificate for a server with these DNS names and IP addresses. Valid for a year, but not beyond the authority's expiry. */
export function issueServerCertificate(authority: Certificate, names: readonly string[], now: number): Certificate {
  const extensions = [
    ...encodeLeafExtensions(SERVER_AUTH),
    encodeExtension(SUBJECT_ALT_NAME, encodeSequence(...names.map(encodeAlternativeName))),
  ];
  return issueLeaf(authority, { name: names[0] ?? '', groups: [] }, extensions, now);
}

/** Issues a client certificate for a user with groups. Valid for a year, but not beyond the authority's expiry. */
export function issueClientCertificate(authority: Certificate, subject: CertificateSubject, now: number): Certificate {
  return issueLeaf(authority, subject, encodeLeafExtensions(CLIENT_AUTH), now);
}

interface Draft {
  readonly subject: CertificateSubject;
  readonly publicKey: KeyObject;
  readonly expiresAt: number;
  readonly extensions: readonly Buffer[];
}

interface KeyPair {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const YEAR_MS = 365 * 24 * 3_600_000;
/** Time before issuance at which the validity starts, in milliseconds: clients' clocks may be behind. */
const BACKDATED_MS = 300_000;
const AUTHORITY: CertificateSubject = { name: 'purser-ca', groups: [] };
/** Subject of the certificate authorities that `createAuthority` creates, in the format of X509Certificate. */
const AUTHORITY_NAME = `CN=${AUTHORITY.name}`;

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
const SUBJECT_KEY_ID = '2.5.29.14';
const KEY_USAGE = '2.5.29.15';
const SUBJECT_ALT_NAME = '2.5.29.17';
const BASIC_CONSTRAINTS = '2.5.29.19';
const AUTHORITY_KEY_ID = '2.5.29.35';
const EXTENDED_KEY_USAGE = '2.5.29.37';
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
const ECDSA_WITH_SHA256 = encodeSequence(encodeObjectIdentifier('1.2.840.10045.4.3.2'));

const AUTHORITY_EXTENSIONS = [
  encodeExtension(BASIC_CONSTRAINTS, encodeSequence(encodeTrue()), true),
  // keyCertSign and cRLSign.
  encodeExtension(KEY_USAGE, encodeBitString(Buffer.from([0b0000_0110]), 1), true),
];

function encodeLeafExtensions(purpose: string): readonly Buffer[] {
  return [
    encodeExtension(BASIC_CONSTRAINTS, encodeSequence(), true),
    // digitalSignature.
    encodeExtension(KEY_USAGE, encodeBitString(Buffer.from([0b1000_0000]), 7), true),
    encodeExtension(EXTENDED_KEY_USAGE, encodeSequence(encodeObjectIdentifier(purpose))),
  ];
}

function issueLeaf(authority: Certificate, subject: CertificateSubject, extensions: readonly Buffer[], now: number): Certificate {
  const keys = createKeys();
  const issuer = { privateKey: createPrivateKey(authority.key), publicKey: createPublicKey(authority.key) };
  const expiresAt = Math.min(now + YEAR_MS, authority.expiresAt);
  const draft = { subject, publicKey: keys.publicKey, expiresAt, extensions };
  return { certificate: signCertificate(draft, issuer, now), key: encodePrivateKey(keys.privateKey), expiresAt };
}

function signCertificate(draft: Draft, issuer: KeyPair, now: number): string {
  const extensions = [
    ...draft.extensions,
    encodeExtension(SUBJECT_KEY_ID, encodeOctetString(computeKeyId(draft.publicKey))),
    encodeExtension(AUTHORITY_KEY_ID, encodeSequence(encodeContextTag(0, computeKeyId(issuer.publicKey), false))),
  ];
  const body = encodeSequence(
    encodeContextTag(0, encodeInteger(Buffer.from([2])), true),
    encodeInteger(randomBytes(16)),
    ECDSA_WITH_SHA256,
    encodeDistinguishedName(AUTHORITY),
    encodeSequence(encodeTime(now - BACKDATED_MS), encodeTime(draft.expiresAt)),
    encodeDistinguishedName(draft.subject),
    encodePublicKey(draft.publicKey),
    encodeContextTag(3, encodeSequence(...extensions), true),
  );
  return encodeCertificate(encodeSequence(body, ECDSA_WITH_SHA256, encodeBitString(sign('sha256', body, issuer.privateKey))));
}

function encodeDistinguishedName({ name, groups }: CertificateSubject): Buffer {
  const attributes = [...groups.map((group) => [ORGANIZATION, group] as const), [COMMON_NAME, name] as const];
  return encodeSequence(
    ...attributes.map(([type, value]) => encodeSet(encodeSequence(encodeObjectIdentifier(type), encodeUtf8String(value)))),
  );
}

function encodeExtension(id: string, value: Buffer, critical = false): Buffer {
  return encodeSequence(encodeObjectIdentifier(id), ...(critical ? [encodeTrue()] : []), encodeOctetString(value));
}

function encodeAlternativeName(name: string): Buffer {
  return isIP(name) === 0 ? encodeContextTag(2, Buffer.from(name), false) : encodeContextTag(7, toAddressBytes(name), false);
}

function toAddressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The URL parser normalizes IPv6 addresses to hexadecimal groups.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const parseGroups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, after] = [parseGroups(head), parseGroups(tail ?? '')];
  const words = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after];
  return Buffer.from(words.flatMap((word) => [word >> 8, word & 0xff]));
}

function createKeys(): KeyPair {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' });
}

function encodePublicKey(key: KeyObject): Buffer {
  return key.export({ type: 'spki', format: 'der' });
}

function computeKeyId(key: KeyObject): Buffer {
  return createHash('sha256').update(encodePublicKey(key)).digest().subarray(0, 20);
}

function encodePrivateKey(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

function encodeCertificate(der: Buffer): string {
  const lines = der.toString('base64').replace(/(.{64})(?!$)/g, '$1\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}
