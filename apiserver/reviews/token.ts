// The `token` subresource of service accounts: issues a token that lives as long as asked, the account, and the object it is bound to.

import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { TOKEN_REQUEST } from '../../src/kubernetes/reviews.ts';
import { internalError } from '../../src/kubernetes/status.ts';
import {
  answeredTokenRequest,
  checkExpiration,
  checkName,
  checkNamespace,
  checkUid,
  defaultedTokenRequest,
  type TokenRequest,
} from '../../src/kubernetes/token-request.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { signToken } from '../access/json-web-token.ts';
import type { ObjectSource } from '../access/object-source.ts';
import { claimsFor, type TokenGrant } from '../access/service-account-claims.ts';
import type { SigningKey } from '../access/signing-key.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';
import { boundObject } from './bound-object.ts';
import { storedObject } from './stored-object.ts';

/** How this server issues tokens. */
export interface TokenIssuance {
  readonly issuer: string;
  readonly key: SigningKey;
  /** The audiences of this API server, which a token is for unless the request names others. */
  readonly audiences: readonly string[];
  readonly objects: ObjectSource;
  /** Longer lifetimes are shortened to this. */
  readonly maxExpirationSeconds?: number;
}

/** A decoded TokenRequest and where it was posted. */
export interface PostedTokenRequest {
  readonly object: KubeObject;
  /** The service account of the URL. */
  readonly namespace: string;
  readonly name: string;
  /** The name under which fields are owned. */
  readonly manager: string;
  /** Refuses, by throwing, when nothing may be created in the namespace. */
  admit(): void;
  /** Tells the caller something without refusing. */
  warn(text: string): void;
}

/** Answers a TokenRequest with a token. Throws a StatusError for the first check that fails. */
export async function createToken(posted: PostedTokenRequest, issuance: TokenIssuance, now: number): Promise<KubeObject> {
  const request = withManagedFields(defaultedTokenRequest(posted.object), posted.manager, now);
  const serviceAccount = checkedAccount(request, posted, issuance.objects);
  const grant = grantFor(request, serviceAccount, posted, issuance);
  const { audiences } = grant;
  const expirationSeconds = grant.warnAfterSeconds ?? grant.lifetimeSeconds;
  const token = await signed(grant, issuance.key, now);
  const status = { token, expirationTimestamp: formatTimestamp(now + expirationSeconds * 1000) };
  return answeredTokenRequest(request, { account: accountOf(serviceAccount), audiences, expirationSeconds, status }, now);
}

/** What Kubernetes asks for on behalf of Pods; such a token outlives it, in case its user never reads a new one. */
const LEGACY_SECONDS = 3607;
const EXTENDED_SECONDS = 365 * 24 * 3600;

/** Adds the managedFields: the manager owns the fields that the client sent, not those that the server fills in. */
function withManagedFields(request: TokenRequest, manager: string, now: number): TokenRequest {
  const { metadata } = withTrackedUpdate({
    live: undefined,
    next: request,
    manager,
    apiVersion: 'authentication.k8s.io/v1',
    now: formatTimestamp(now),
    subresource: 'token',
    schema: TOKEN_REQUEST,
  });
  return { ...request, metadata };
}

/** The service account, once everything about the request but its bound object has been checked. */
function checkedAccount(request: TokenRequest, posted: PostedTokenRequest, objects: ObjectSource): KubeObject {
  checkNamespace(request, posted);
  posted.admit();
  checkName(request, posted);
  const serviceAccount = storedObject(objects, 'serviceaccounts', posted.namespace, posted.name);
  checkUid(request, accountOf(serviceAccount));
  checkExpiration(request);
  return serviceAccount;
}

function accountOf({ metadata: { name = '', namespace = '', uid = '' } }: KubeObject) {
  return { name, namespace, uid };
}

function grantFor({ spec }: TokenRequest, serviceAccount: KubeObject, posted: PostedTokenRequest, issuance: TokenIssuance): TokenGrant {
  const audiences = spec.audiences?.length ? spec.audiences : issuance.audiences;
  const bound = spec.boundObjectRef && boundObject(spec.boundObjectRef, posted, issuance.objects);
  const seconds = cappedSeconds(Number(spec.expirationSeconds), posted, issuance);
  const isExtended = bound?.pod && seconds === LEGACY_SECONDS && audiences.every((audience) => issuance.audiences.includes(audience));
  return {
    issuer: issuance.issuer,
    id: randomUUID(),
    serviceAccount,
    audiences,
    ...(isExtended ? { lifetimeSeconds: EXTENDED_SECONDS, warnAfterSeconds: seconds } : { lifetimeSeconds: seconds }),
    ...(bound && { bound }),
  };
}

function cappedSeconds(seconds: number, posted: PostedTokenRequest, { maxExpirationSeconds: max }: TokenIssuance): number {
  if (max === undefined || seconds <= max) return seconds;
  posted.warn(`requested expiration of ${seconds} seconds shortened to ${max} seconds`);
  return max;
}

async function signed(grant: TokenGrant, key: SigningKey, now: number): Promise<string> {
  try {
    return await signToken({ ...claimsFor(grant, now) }, key);
  } catch (error) {
    throw internalError(`failed to generate token: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
