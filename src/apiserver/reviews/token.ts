// The `token` subresource of service accounts: issues a token that lives as long as asked, the account, and the object it is bound to.

import { randomUUID } from 'node:crypto';
import { type FieldError, invalidValue } from '../../api/field-error.ts';
import { badRequest, conflict, internalError, invalid } from '../../api/status.ts';
import { withTrackedUpdate } from '../../apimachinery/fields/managed-fields.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import { TOKEN_REQUEST } from '../../apimachinery/reviews.ts';
import { rfc3339 } from '../../std/timestamp.ts';
import { signToken } from '../access/json-web-token.ts';
import type { ObjectSource } from '../access/object-source.ts';
import { claimsFor, type TokenGrant } from '../access/service-account-claims.ts';
import type { SigningKey } from '../access/signing-key.ts';
import { type BoundObjectReference, boundObject } from './bound-object.ts';
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
  const request = tracked(defaulted(posted.object), posted.manager, now);
  const serviceAccount = checkedAccount(request, posted, issuance.objects);
  const grant = grantFor(request, serviceAccount, posted, issuance);
  const { audiences } = grant;
  const expirationSeconds = grant.warnAfterSeconds ?? grant.lifetimeSeconds;
  const token = await signed(grant, issuance.key, now);
  const { name = '', namespace = '', uid = '' } = serviceAccount.metadata;
  return {
    ...request,
    metadata: { ...request.metadata, name, namespace, uid, creationTimestamp: rfc3339(now) },
    spec: { ...request.spec, audiences, expirationSeconds },
    status: { token, expirationTimestamp: rfc3339(now + expirationSeconds * 1000) },
  };
}

interface TokenRequest extends KubeObject {
  readonly spec: {
    readonly audiences?: readonly string[];
    readonly expirationSeconds: number | bigint;
    readonly boundObjectRef?: BoundObjectReference;
  };
}

interface IncompleteTokenRequest extends KubeObject {
  readonly spec?: Partial<TokenRequest['spec']>;
}

const API_VERSION = 'authentication.k8s.io/v1';
const KIND = { group: 'authentication.k8s.io', name: 'TokenRequest' };
const DEFAULT_SECONDS = 3600;
const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
/** What Kubernetes asks for on behalf of Pods; such a token outlives it, in case its user never reads a new one. */
const LEGACY_SECONDS = 3607;
const EXTENDED_SECONDS = 365 * 24 * 3600;

function defaulted(object: KubeObject): TokenRequest {
  const { spec }: IncompleteTokenRequest = object;
  const { audiences, expirationSeconds, boundObjectRef, ...rest } = spec ?? {};
  return {
    ...object,
    spec: {
      ...rest,
      // The decoder may have kept an explicit null, which is the same as absent.
      ...(audiences && { audiences }),
      expirationSeconds: expirationSeconds ?? DEFAULT_SECONDS,
      ...(boundObjectRef && { boundObjectRef }),
    },
  };
}

/** Fields are owned as the client sent them, before the server fills in the rest. */
function tracked(request: TokenRequest, manager: string, now: number): TokenRequest {
  const { metadata } = withTrackedUpdate({
    live: undefined,
    next: request,
    manager,
    apiVersion: API_VERSION,
    now: rfc3339(now),
    subresource: 'token',
    schema: TOKEN_REQUEST,
  });
  return { ...request, metadata };
}

/** The service account, once everything about the request but its bound object has been checked. */
function checkedAccount(request: TokenRequest, posted: PostedTokenRequest, objects: ObjectSource): KubeObject {
  if (request.metadata.namespace && request.metadata.namespace !== posted.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  posted.admit();
  checkName(request, posted.name);
  const serviceAccount = storedObject(objects, 'serviceaccounts', posted.namespace, posted.name);
  checkUid(request, serviceAccount);
  const error = expirationError(request.spec.expirationSeconds);
  if (error) throw invalid(KIND, '', [error]);
  return serviceAccount;
}

function checkName({ metadata }: TokenRequest, name: string): void {
  if (!metadata.name || metadata.name === name) return;
  throw invalid(KIND, name, [invalidValue('metadata.name', metadata.name, 'must match the service account name if specified')]);
}

function checkUid({ metadata: { uid } }: TokenRequest, { metadata }: KubeObject): void {
  if (!uid || uid === metadata.uid) return;
  const why = `the UID in the token request (${uid}) does not match the UID of the service account (${metadata.uid})`;
  throw conflict(KIND, metadata.name ?? '', why);
}

function expirationError(seconds: number | bigint): FieldError | undefined {
  const error = (detail: string) => invalidValue('spec.expirationSeconds', BigInt(seconds), detail);
  if (seconds < MIN_SECONDS) return error('may not specify a duration less than 10 minutes');
  return seconds > MAX_SECONDS ? error('may not specify a duration larger than 2^32 seconds') : undefined;
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
