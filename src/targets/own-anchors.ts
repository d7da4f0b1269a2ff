// Anchors of Purser's own tokens on a target: Secrets in the namespace of Purser's service account. Deleting an anchor revokes the token
// that is bound to it.

import { Label, LabelValue, OwnAnchorPrefix } from '../api/names.ts';
import { Secrets, ServiceAccounts } from '../api/resources.ts';
import { fieldsOf, textOf } from '../kubernetes/untrusted.ts';
import { computeDigest } from '../std/digest.ts';
import { type AnchorName, callTolerating, deleteSecret, findAnchor, isOwnedBy, requireUID } from './anchors.ts';
import { IssueError } from './issue-error.ts';
import type { OwnAnchor } from './policy/renewed-secret.ts';
import type { Target, TargetCall } from './target.ts';

/** An anchor to create for the next renewed token. */
export interface OwnAnchorRequest {
  /** Purser's service account on the target; `uid` is undefined if Purser's token does not contain the UID. */
  readonly serviceAccount: AnchorName & { readonly uid?: string | undefined };
  /** UID of the registered Secret on the hub. */
  readonly registeredUID: string;
  /**
   * Digest of the last renewed token on the hub; empty before the first renewal. The name of the anchor depends on this digest, not on the
   * registered token, so that the anchor of an interrupted renewal is found again even if the registered token changes in the meantime.
   */
  readonly recordedDigest: string;
}

/**
 * Creates the anchor, or finds the one that an interrupted renewal created; re-creates an anchor that the service account does not own.
 * Returns undefined if the target forbids a request. Throws an IssueError for all other failures, and for a Secret that has the anchor's
 * name but not Purser's label.
 */
export async function ensureOwnAnchor(target: Target, request: OwnAnchorRequest, signal: AbortSignal): Promise<OwnAnchor | undefined> {
  const { serviceAccount, registeredUID, recordedDigest } = request;
  const { namespace, uid } = serviceAccount;
  const name = toOwnAnchorName(registeredUID, recordedDigest);
  const labels = { [Label.managedBy]: LabelValue.managedBy, [Label.credential]: toCredentialLabel(registeredUID) };
  const owner = { apiVersion: 'v1', kind: ServiceAccounts.kind, name: serviceAccount.name };
  const metadata = { namespace, name, labels, ...(uid !== undefined && { ownerReferences: [{ ...owner, uid }] }) };
  const create: TargetCall<unknown> = (client, options) => client.create(Secrets, { metadata, type: 'Opaque' }, options);
  try {
    const created = await callTolerating(target, create, signal, 'AlreadyExists');
    const found = created ?? (await findAnchor(target, { namespace, name }, signal));
    if (found === undefined || isBeingDeleted(found))
      throw new IssueError('BoundObjectNotFound', `the anchor Secret ${namespace}/${name} was deleted or is being deleted`);
    if (created !== undefined || uid === undefined || isOwnedBy(found, uid)) return { namespace, name, uid: requireUID(found) };
    // The anchor has no owner, or another service account owns it, such as a deleted one of the same name. The target deletes an anchor
    // together with its owner, which would revoke the new token.
    await deleteSecret(target, { namespace, name }, requireUID(found), signal);
    return { namespace, name, uid: requireUID(await callTolerating(target, create, signal)) };
  } catch (error) {
    if (isForbidden(error)) return undefined;
    throw error;
  }
}

/** Returns the name of the anchor for the token that replaces the recorded one. */
export function toOwnAnchorName(registeredUID: string, recordedDigest: string): string {
  return `${OwnAnchorPrefix}${toShortDigest(`${registeredUID} ${recordedDigest}`)}`;
}

/** Returns the value of `Label.credential` on anchors for a registered Secret. */
export function toCredentialLabel(registeredUID: string): string {
  return toShortDigest(registeredUID);
}

/** Returns all anchors in a namespace of the target that have the label of a registered Secret. Throws an IssueError on failure. */
export async function listOwnAnchors(
  target: Target,
  { namespace, registeredUID }: { readonly namespace: string; readonly registeredUID: string },
  signal: AbortSignal,
): Promise<readonly OwnAnchor[]> {
  const labelSelector = `${Label.credential}=${toCredentialLabel(registeredUID)}`;
  const anchors: OwnAnchor[] = [];
  const list: TargetCall<void> = async (client, options) => {
    anchors.length = 0;
    for await (const { items } of client.pages(Secrets, { namespace, labelSelector, ...options }))
      anchors.push(...items.map(({ metadata: { name, uid } }) => ({ namespace, name, uid })));
  };
  await callTolerating(target, list, signal);
  return anchors;
}

/**
 * Deletes the anchor with this name and UID, if it still exists. Does nothing for a name without the prefix of Purser's own anchors. Throws
 * an IssueError if the request fails.
 */
export async function deleteOwnAnchor(target: Target, { namespace, name, uid }: OwnAnchor, signal: AbortSignal): Promise<void> {
  if (name.startsWith(OwnAnchorPrefix)) await deleteSecret(target, { namespace, name }, uid, signal);
}

/** Returns the first 32 hexadecimal digits of the digest of a text. */
function toShortDigest(text: string): string {
  return computeDigest(text).slice('sha256:'.length, 'sha256:'.length + 32);
}

function isBeingDeleted(object: unknown): boolean {
  return textOf(fieldsOf(fieldsOf(object)['metadata'])['deletionTimestamp']) !== '';
}

function isForbidden(error: unknown): boolean {
  return error instanceof IssueError && (error.reason === 'TargetForbidden' || error.status?.code === 403);
}
