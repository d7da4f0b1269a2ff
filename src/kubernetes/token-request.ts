// TokenRequest as API servers process it: defaults, validation, bound object and response.

import { quoteGoString } from '../std/go-text.ts';
import { formatTimestamp } from '../std/timestamp.ts';
import { invalidValue } from './field-error.ts';
import { validatePathSegment } from './names.ts';
import type { KubeObject } from './object.ts';
import { TOKEN_REQUEST } from './reviews.ts';
import { badRequest, conflict, invalid } from './status.ts';

export interface BoundObjectReference {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** A decoded TokenRequest with its defaults. */
export interface TokenRequest extends KubeObject {
  readonly spec: {
    readonly audiences?: readonly string[];
    readonly expirationSeconds: number | bigint;
    readonly boundObjectRef?: BoundObjectReference;
  };
}

/** Kind of a TokenRequest, with the schema of its body. */
export const TOKEN_REQUEST_KIND = {
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenRequest',
  builtIn: true,
  schema: TOKEN_REQUEST,
} as const;

/** Returns the request with its defaults. */
export function withTokenDefaults(object: KubeObject): TokenRequest {
  const { spec }: IncompleteTokenRequest = object;
  const { audiences, expirationSeconds, boundObjectRef, ...rest } = spec ?? {};
  return {
    ...object,
    spec: {
      ...rest,
      // The decoder can keep an explicit null, which means the same as an absent field.
      ...(audiences && { audiences }),
      expirationSeconds: expirationSeconds ?? DEFAULT_EXPIRATION_SECONDS,
      ...(boundObjectRef && { boundObjectRef }),
    },
  };
}

/** Namespace and name of the service account in the path of a request. */
export interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

/** Throws 400 if the body names a namespace other than the one in the path. */
export function checkNamespace({ metadata }: TokenRequest, { namespace }: ServiceAccountName): void {
  if (!metadata.namespace || metadata.namespace === namespace) return;
  throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
}

/** Throws 422 if the body names a service account other than the one in the path. */
export function checkName({ metadata }: TokenRequest, { name }: ServiceAccountName): void {
  if (!metadata.name || metadata.name === name) return;
  throw invalid(TOKEN_REQUEST_NAME, name, [
    invalidValue('metadata.name', metadata.name, 'must match the service account name if specified'),
  ]);
}

/** Throws 409 if the body contains a UID other than that of the service account. */
export function checkUid({ metadata: { uid } }: TokenRequest, serviceAccount: ServiceAccountName & { readonly uid: string }): void {
  if (!uid || uid === serviceAccount.uid) return;
  const why = `the UID in the token request (${uid}) does not match the UID of the service account (${serviceAccount.uid})`;
  throw conflict(TOKEN_REQUEST_NAME, serviceAccount.name, why);
}

/** Throws 422 for a lifetime below the minimum or above the maximum of Kubernetes. */
export function checkExpiration({ spec: { expirationSeconds: seconds } }: TokenRequest): void {
  const invalidExpiration = (detail: string) =>
    invalid(TOKEN_REQUEST_NAME, '', [invalidValue('spec.expirationSeconds', BigInt(seconds), detail)]);
  if (seconds < MIN_EXPIRATION_SECONDS) throw invalidExpiration('may not specify a duration less than 10 minutes');
  if (seconds > MAX_EXPIRATION_SECONDS) throw invalidExpiration('may not specify a duration larger than 2^32 seconds');
}

/** Values that the server sets in the response to a request. */
export interface TokenResponse {
  readonly serviceAccount: ServiceAccountName & { readonly uid?: string | undefined };
  readonly audiences: readonly string[];
  readonly expirationSeconds: number | bigint;
  readonly status: { readonly token: string; readonly expirationTimestamp?: string };
}

/** Returns the body of the response: the request with the server's values. */
export function toTokenResponse(request: TokenRequest, response: TokenResponse, now: number): KubeObject {
  const { serviceAccount, audiences, expirationSeconds, status } = response;
  const { name, namespace, uid } = serviceAccount;
  return {
    ...request,
    metadata: { ...request.metadata, name, namespace, ...(uid && { uid }), creationTimestamp: formatTimestamp(now) },
    spec: { ...request.spec, audiences, expirationSeconds },
    status,
  };
}

interface IncompleteTokenRequest extends KubeObject {
  readonly spec?: Partial<TokenRequest['spec']>;
}

/** Group and kind of a TokenRequest in error messages. */
export const TOKEN_REQUEST_NAME = { group: 'authentication.k8s.io', name: 'TokenRequest' } as const;
const DEFAULT_EXPIRATION_SECONDS = 3600;
/** Minimum lifetime in a request, in seconds. */
export const MIN_EXPIRATION_SECONDS = 600;
/** Maximum lifetime in a request, in seconds. */
export const MAX_EXPIRATION_SECONDS = 2 ** 32;

/** Throws 400 unless the reference names one of these kinds of the core group. */
export function checkBoundKind({ kind = '', apiVersion = '' }: BoundObjectReference, kinds: readonly string[]): void {
  const { group, version } = parseApiVersion(apiVersion);
  if (group !== '' || !kinds.includes(kind)) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
}

/** Throws 400 for a name that no object can have. */
export function checkObjectName(name: string): void {
  if (name === '') throw badRequest('Name parameter required.');
  const problems = validatePathSegment(name);
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${quoteGoString(name)}: ${problems.join(';')}`);
}

/** Identity of an object to which a token can be bound. */
export interface BoundObject {
  readonly uid: string;
  /** Name of a Pod's service account; not used for other kinds. */
  readonly serviceAccountName: string;
}

/** Throws 400 for a Pod of a different service account, and 409 for an object with a different UID than the reference. */
export function checkBoundObject(
  { kind = '', name = '', uid = '' }: BoundObjectReference,
  object: BoundObject,
  serviceAccountName: string,
): void {
  if (kind === 'Pod' && object.serviceAccountName !== serviceAccountName) {
    throw badRequest(
      `cannot bind token for serviceaccount ${quoteGoString(serviceAccountName)} to pod running with different serviceaccount name.`,
    );
  }
  if (uid === '' || uid === object.uid) return;
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: '', name: kind }, name, why);
}

/** Parses an apiVersion. Returns an empty group and version if it contains more than one slash. */
function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const parts = apiVersion.split('/');
  if (parts.length === 1) return { group: '', version: apiVersion };
  const [group = '', version = ''] = parts.length === 2 ? parts : [];
  return { group, version };
}
