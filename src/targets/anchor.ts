// Anchors: Secrets beside the accounts on a target that tokens are bound to. Deleting one kills its tokens.
// The name, which holds the UID of a ManagedToken, says what may be deleted; users of the target can remove labels.

import { Label, LabelValue } from '../api/names.ts';
import { type Secret, Secrets, ServiceAccounts } from '../api/resources.ts';
import { hasReason, StatusError, type StatusReason } from '../kubernetes/status.ts';
import { fieldsOf, textOf, uidOf } from '../kubernetes/untrusted.ts';
import { statusFailure } from './failure.ts';
import { IssueError } from './issue-error.ts';
import { accountMissing } from './missing.ts';
import type { Ask, Target } from './target.ts';
import { rejectAccount } from './token-exchange.ts';

/** Where an anchor is, or should be. */
export interface AnchorName {
  readonly namespace: string;
  readonly name: string;
}

/** The UID of the anchor, which is made if it is not there and belongs to the account: they go together. Throws an IssueError. */
export async function ensureAnchor(target: Target, anchor: AnchorName, account: string, signal: AbortSignal): Promise<string> {
  const { namespace } = anchor;
  await rejectAccount(target, { namespace }, signal);
  const accountUID = await uidOfAccount(target, { namespace, name: account }, signal);
  const wanted = anchorSecret(anchor, account, accountUID);
  const create: Ask<unknown> = (client, options) => client.create(Secrets, wanted, options);
  const created = await answered(target, create, signal, 'AlreadyExists');
  if (created !== undefined) return checkedUID(created);
  const found = await findAnchor(target, anchor, signal);
  if (found === undefined) return checkedUID(await answered(target, create, signal));
  if (isOwnedBy(found, accountUID)) return checkedUID(found);
  // It belongs to an account that is gone, or is on its way out itself: tokens bound to it would die with it.
  await remove(target, anchor, checkedUID(found), signal);
  return checkedUID(await answered(target, create, signal));
}

/** Returns whether an anchor exists. Throws an IssueError. */
export async function hasAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<boolean> {
  return (await readAnchor(target, anchor, signal)) !== undefined;
}

/**
 * Deletes an anchor if it exists, and returns whether it existed. Throws an IssueError if it may still exist. To be called only for
 * places where Purser recorded that it may have created one: the Secret of that name is deleted whatever its labels.
 */
export async function deleteAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<boolean> {
  const found = await readAnchor(target, anchor, signal);
  if (found !== undefined) await remove(target, anchor, checkedUID(found), signal);
  return found !== undefined;
}

function anchorSecret({ namespace, name }: AnchorName, account: string, accountUID: string): Secret {
  const owner = { apiVersion: 'v1', kind: ServiceAccounts.kind, name: account, uid: accountUID };
  const labels = { [Label.managedBy]: LabelValue.managedBy };
  return { metadata: { namespace, name, labels, ownerReferences: [owner] }, type: 'Opaque' };
}

async function uidOfAccount(target: Target, account: AnchorName, signal: AbortSignal): Promise<string> {
  const found = await answered(target, (client, options) => client.get(ServiceAccounts, account, options), signal, 'NotFound');
  if (found === undefined) throw accountMissing(account);
  return checkedUID(found);
}

async function readAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<unknown> {
  return await answered(target, (client, options) => client.get(Secrets, anchor, options), signal, 'NotFound');
}

/** The anchor of that name; undefined when there is none. Throws if something else has the name. */
async function findAnchor(target: Target, anchor: AnchorName, signal: AbortSignal): Promise<unknown> {
  const found = await readAnchor(target, anchor, signal);
  const labels = fieldsOf(fieldsOf(fieldsOf(found)['metadata'])['labels']);
  if (found === undefined || labels[Label.managedBy] === LabelValue.managedBy) return found;
  throw new IssueError('TargetRefused', `the Secret ${anchor.namespace}/${anchor.name} exists and was not made by Purser`);
}

function isOwnedBy(anchor: unknown, accountUID: string): boolean {
  const { ownerReferences, deletionTimestamp } = fieldsOf(fieldsOf(anchor)['metadata']);
  const owners: readonly unknown[] = Array.isArray(ownerReferences) ? ownerReferences : [];
  return textOf(deletionTimestamp) === '' && owners.some((owner) => fieldsOf(owner)['uid'] === accountUID);
}

async function remove(target: Target, anchor: AnchorName, uid: string, signal: AbortSignal): Promise<void> {
  const ask: Ask<void> = (client, options) => client.delete(Secrets, anchor, { uid, ...options });
  // Another one of the same name is there: the one that was meant is gone.
  const isGone = (error: StatusError) => error.code === 404 || error.code === 409;
  await target.call(ask, signal).catch((error: unknown) => {
    if (!(error instanceof StatusError)) throw error;
    if (!isGone(error)) throw statusFailure(error);
  });
}

/** The answer; undefined for the one refusal that is expected. */
async function answered<T>(target: Target, ask: Ask<T>, signal: AbortSignal, expected?: StatusReason): Promise<T | undefined> {
  try {
    return await target.call(ask, signal);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (expected !== undefined && hasReason(error, expected)) return undefined;
    throw statusFailure(error);
  }
}

function checkedUID(object: unknown): string {
  const uid = uidOf(object);
  if (uid === undefined) throw new IssueError('AnswerUntrusted', 'it has no UID');
  return uid;
}
