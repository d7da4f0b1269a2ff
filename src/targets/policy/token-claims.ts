// The claims of a token. They are not verified here; a TokenReview on the issuing cluster verifies a token.

import { type Fields, isFields } from '../../kubernetes/object.ts';
import { fieldsOf, identifierOf } from '../../kubernetes/untrusted.ts';
import { omitUndefined } from '../../std/omit-undefined.ts';
import { LATEST_TIMESTAMP } from '../../std/timestamp.ts';

/**
 * The claims of a JWT. Claims that are missing or of the wrong type are absent; `audiences` is empty in that case. Times are in
 * milliseconds since the epoch.
 */
export interface TokenClaims {
  readonly issuer?: string;
  readonly subject?: string;
  readonly audiences: readonly string[];
  readonly issuedAt?: number;
  readonly notBefore?: number;
  readonly expiresAt?: number;
  /** The `jti`, which the audit log of the cluster contains. */
  readonly id?: string;
  readonly accountUID?: string;
  readonly boundSecretName?: string;
  readonly boundSecretUID?: string;
  readonly boundPodUID?: string;
}

/** Returns the claims of a JWT; undefined for any other string, and for one that is too long. Never throws. */
export function parseTokenClaims(token: string, maxLength = MAX_TOKEN_LENGTH): TokenClaims | undefined {
  const payload = token.length > maxLength ? undefined : parsePayload(token);
  if (payload === undefined) return undefined;
  const kubernetes = fieldsOf(payload['kubernetes.io']);
  return omitUndefined({
    issuer: textOf(payload['iss']),
    subject: textOf(payload['sub']),
    audiences: toAudiences(payload['aud']),
    issuedAt: parseNumericDate(payload['iat']),
    notBefore: parseNumericDate(payload['nbf']),
    expiresAt: parseNumericDate(payload['exp']),
    id: identifierOf(payload['jti']),
    accountUID: identifierOf(fieldsOf(kubernetes['serviceaccount'])['uid']),
    boundSecretName: identifierOf(fieldsOf(kubernetes['secret'])['name']),
    boundSecretUID: identifierOf(fieldsOf(kubernetes['secret'])['uid']),
    boundPodUID: identifierOf(fieldsOf(kubernetes['pod'])['uid']),
  });
}

/**
 * Maximum length of a token without its audiences, in characters; `computeMaxTokenLength` adds the length of the requested audiences. A
 * typical Kubernetes token has about 1,000 characters.
 */
export const MAX_TOKEN_LENGTH = 16_384;
const JWT = /^[\w-]+\.([\w-]+)\.[\w-]*$/;

function parsePayload(token: string): Fields | undefined {
  const payload = JWT.exec(token)?.[1];
  if (payload === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString());
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function toAudiences(value: unknown): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((audience) => typeof audience === 'string');
}

/** Converts the time in a claim, in seconds with an optional fraction, to milliseconds. */
function parseNumericDate(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.min(value * 1000, LATEST_TIMESTAMP) : undefined;
}

/** Returns whether the host of an issuer resolves only inside a cluster. By default, many clusters have the same issuer of this form. */
export function isClusterLocalIssuer(issuer: string): boolean {
  return LOCAL_ISSUER.test(URL.parse(issuer)?.hostname ?? '');
}

const LOCAL_ISSUER = /\.svc(\.cluster\.local)?$/;
