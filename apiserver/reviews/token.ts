// Issuance of service-account tokens.

import { randomUUID } from 'node:crypto';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { TOKEN_REQUEST } from '../../src/kubernetes/reviews.ts';
import { notFound } from '../../src/kubernetes/status.ts';
import {
  type BoundObjectReference,
  checkBoundKind,
  checkBoundObject,
  checkExpiration,
  checkName,
  checkNamespace,
  checkObjectName,
  checkUid,
  type TokenRequest,
  toTokenResponse,
  withTokenDefaults,
} from '../../src/kubernetes/token-request.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { ObjectSource } from '../access/policy.ts';
import {
  type BoundClaims,
  type ClaimedObject,
  createClaims,
  type TokenGrant,
  type TokenIssuer,
  toClaimedObject,
} from '../access/service-account-tokens.ts';
import { signToken } from '../access/signing-key.ts';
import { withTrackedUpdate } from '../fields/managed-fields.ts';

/** A decoded TokenRequest with its service account. */
export interface PostedTokenRequest {
  readonly object: KubeObject;
  /** Namespace and name of the service account, from the URL. */
  readonly namespace: string;
  readonly name: string;
  /** Field manager that owns the fields of the request. */
  readonly manager: string;
  /** Throws if objects cannot be created in the namespace. */
  admit(): void;
}

/** Issues a token for a TokenRequest. Throws a StatusError for the first check that fails. */
export async function createToken(posted: PostedTokenRequest, issuer: TokenIssuer, now: number): Promise<KubeObject> {
  const request = withManagedFields(withTokenDefaults(posted.object), posted.manager, now);
  const serviceAccount = checkServiceAccount(request, posted, issuer.objects);
  const grant = createGrant(request, serviceAccount, posted, issuer);
  const { audiences } = grant;
  const expirationSeconds = grant.lifetimeSeconds;
  const token = await signToken({ ...createClaims(grant, now) }, issuer.key);
  const status = { token, expirationTimestamp: formatTimestamp(now + expirationSeconds * 1000) };
  return toTokenResponse(request, { serviceAccount: toReference(serviceAccount), audiences, expirationSeconds, status }, now);
}

/** Adds managedFields: the manager owns the fields of the request, with their defaults, but not the fields that the response adds. */
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

/** Checks the request except its bound object. Returns the service account. */
function checkServiceAccount(request: TokenRequest, posted: PostedTokenRequest, objects: ObjectSource): KubeObject {
  checkNamespace(request, posted);
  posted.admit();
  checkName(request, posted);
  const serviceAccount = getStoredObject(objects, 'serviceaccounts', posted.namespace, posted.name);
  checkUid(request, toReference(serviceAccount));
  checkExpiration(request);
  return serviceAccount;
}

function toReference({ metadata: { name = '', namespace = '', uid = '' } }: KubeObject) {
  return { name, namespace, uid };
}

function createGrant({ spec }: TokenRequest, serviceAccount: KubeObject, posted: PostedTokenRequest, issuer: TokenIssuer): TokenGrant {
  const audiences = spec.audiences?.length ? spec.audiences : issuer.audiences;
  const bound = spec.boundObjectRef && toBoundClaims(spec.boundObjectRef, posted, issuer.objects);
  return {
    issuer: issuer.issuer,
    id: randomUUID(),
    serviceAccount,
    audiences,
    lifetimeSeconds: Number(spec.expirationSeconds),
    ...(bound && { bound }),
  };
}

/** Returns the claims of the object that a token of `serviceAccount` is bound to. Throws a StatusError for an invalid reference. */
function toBoundClaims(
  reference: BoundObjectReference,
  serviceAccount: { readonly namespace: string; readonly name: string },
  objects: ObjectSource,
): BoundClaims {
  checkBoundKind(reference, KINDS);
  const { kind = '', name = '' } = reference;
  const type = kind.toLowerCase() as keyof BoundClaims;
  const object = getStoredObject(objects, `${type}s`, type === 'node' ? '' : serviceAccount.namespace, name);
  const { serviceAccountName = '', nodeName = '' } = (object as Pod).spec ?? {};
  checkBoundObject(reference, { uid: object.metadata.uid ?? '', serviceAccountName }, serviceAccount.name);
  const node = type === 'pod' ? findNode(nodeName, objects) : undefined;
  return { [type]: toClaimedObject(object), ...(node && { node }) };
}

const KINDS = ['Pod', 'Secret', 'Node'];

interface Pod extends KubeObject {
  readonly spec?: { readonly serviceAccountName?: string; readonly nodeName?: string };
}

/** Returns the node of a Pod, with only its name if the node does not exist; undefined for an unscheduled Pod. */
function findNode(nodeName: string, objects: ObjectSource): ClaimedObject | undefined {
  if (nodeName === '') return undefined;
  const node = objects.get('', 'nodes', '', nodeName);
  return node === undefined ? { name: nodeName } : toClaimedObject(node);
}

/** Returns a stored object of the core group. Throws 404 for a missing object and 400 for an invalid name. */
function getStoredObject(objects: ObjectSource, plural: string, namespace: string, name: string): KubeObject {
  checkObjectName(name);
  const found = objects.get('', plural, namespace, name);
  if (found === undefined) throw notFound({ group: '', name: plural }, name);
  return found;
}
