// Anchors: Secrets on a target, in the namespace of a service account, that tokens of the service account are bound to. Deleting an anchor
// revokes its tokens. Purser deletes an anchor by its name, which contains the UID of the ManagedToken, because users of the target can
// remove labels.

import { Label, LabelValue } from '../api/names.ts';
import { type Secret, Secrets, ServiceAccounts } from '../api/resources.ts';
import { hasReason, StatusError, type StatusReason } from '../kubernetes/status.ts';
import { fieldsOf, textOf, uidOf } from '../kubernetes/untrusted.ts';
import { IssueError, toStatusFailure } from './issue-error.ts';
import { checkServiceAccount, serviceAccountNotFound } from './issue-token.ts';
import type { Target, TargetCall } from './target.ts';

/** Name of an anchor on a target. */
export interface AnchorName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Finds or creates the anchor, with the service account as its owner, and returns the UID of the anchor. Replaces an anchor that has
 * another owner or is being deleted. Throws an IssueError if a request fails, if the service account does not exist, if tokens must not be
 * issued for the namespace, or if a Secret with this name lacks Purser's label.
 */
export async function ensureAnchor(target: Target, anchor: AnchorName, serviceAccount: string, signal: AbortSignal): Promise<string> {
  const { namespace } = anchor;
  await checkServiceAccount(target, { namespace }, signal);
  const serviceAccountUID = await fetchServiceAccountUID(target, { namespace, name: serviceAccount }, signal);
  const secret = toAnchorSecret(anchor, serviceAccount, serviceAccountUID);
  const create: TargetCall<unknown> = (client, options) => client.create(Secrets, secret, options);
  const created = await callTolerating(target, create, signal, 'AlreadyExists');
  if (created !== undefined) return requireUID(created);
  const found = await findAnchor(target, anchor, signal);
  if (found === undefined) return requireUID(await callTolerating(target, create, signal));
  if (isOwnedBy(found, serviceAccountUID)) return requireUID(found);
  // This anchor is being deleted, or the target would delete it with another service account. Either deletion would revoke the new tokens.
  await deleteSecret(target, anchor, requireUID(found), signal);
  return requireUID(await callTolerating(target, create, signal));
}

/** Returns whether an anchor exists. Throws an IssueError if the request fails. */
export async function hasAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<boolean> {
  return (await readAnchor(target, anchor, signal)) !== undefined;
}

/**
 * Deletes an anchor and returns whether the anchor existed. Throws an IssueError if the anchor may still exist. Deletes the Secret
 * regardless of its labels, so only call this function if Purser may have created an anchor with this name.
 */
export async function deleteAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<boolean> {
  const found = await readAnchor(target, anchor, signal);
  if (found !== undefined) await deleteSecret(target, anchor, requireUID(found), signal);
  return found !== undefined;
}

function toAnchorSecret({ namespace, name }: AnchorName, serviceAccount: string, serviceAccountUID: string): Secret {
  const owner = { apiVersion: 'v1', kind: ServiceAccounts.kind, name: serviceAccount, uid: serviceAccountUID };
  const labels = { [Label.managedBy]: LabelValue.managedBy };
  return { metadata: { namespace, name, labels, ownerReferences: [owner] }, type: 'Opaque' };
}

async function fetchServiceAccountUID(target: Target, serviceAccount: AnchorName, signal: AbortSignal): Promise<string> {
  const found = await callTolerating(target, (client, options) => client.get(ServiceAccounts, serviceAccount, options), signal, 'NotFound');
  if (found === undefined) throw serviceAccountNotFound(serviceAccount);
  return requireUID(found);
}

async function readAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<unknown> {
  return await callTolerating(target, (client, options) => client.get(Secrets, anchor, options), signal, 'NotFound');
}

/**
 * Returns the anchor with this name; undefined if there is none. Throws an IssueError if the request fails, or if the Secret with this name
 * lacks Purser's label.
 */
export async function findAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<unknown> {
  const found = await readAnchor(target, anchor, signal);
  const labels = fieldsOf(fieldsOf(fieldsOf(found)['metadata'])['labels']);
  if (found === undefined || labels[Label.managedBy] === LabelValue.managedBy) return found;
  const text = `the Secret ${anchor.namespace}/${anchor.name} exists without the label ${Label.managedBy}=${LabelValue.managedBy}, so Purser does not use it. Delete the Secret on the cluster`;
  throw new IssueError('RequestRejected', text);
}

/** Returns whether a service account owns an anchor that is not being deleted. */
export function isOwnedBy(anchor: unknown, serviceAccountUID: string): boolean {
  const { ownerReferences, deletionTimestamp } = fieldsOf(fieldsOf(anchor)['metadata']);
  const owners: readonly unknown[] = Array.isArray(ownerReferences) ? ownerReferences : [];
  return textOf(deletionTimestamp) === '' && owners.some((owner) => fieldsOf(owner)['uid'] === serviceAccountUID);
}

/** Deletes the Secret with this UID, if it still exists. Throws an IssueError if the request fails. */
export async function deleteSecret(target: Target, anchor: AnchorName, uid: string, signal: AbortSignal): Promise<void> {
  const request: TargetCall<unknown> = (client, options) => client.delete(Secrets, anchor, { uid, ...options });
  // A conflict means that a Secret with a different UID has this name, so the anchor itself was deleted.
  const meansDeleted = (error: StatusError) => error.code === 404 || error.code === 409;
  await target.call(request, signal).catch((error: unknown) => {
    if (!(error instanceof StatusError)) throw error;
    if (!meansDeleted(error)) throw toStatusFailure(error);
  });
}

/** Returns the response; undefined if the request fails with the expected reason. Throws an IssueError for other errors. */
export async function callTolerating<T>(
  target: Target,
  request: TargetCall<T>,
  signal: AbortSignal,
  expected?: StatusReason,
): Promise<T | undefined> {
  try {
    return await target.call(request, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (expected !== undefined && hasReason(error, expected)) return undefined;
    throw toStatusFailure(error);
  }
}

/** Returns the UID of an object in a response. Throws an IssueError if there is none. */
export function requireUID(object: unknown): string {
  const uid = uidOf(object);
  if (uid === undefined) throw new IssueError('ResponseUntrusted', 'the object in the response has no UID');
  return uid;
}
