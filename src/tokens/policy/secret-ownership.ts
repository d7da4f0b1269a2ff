// Ownership of the Secret that a ManagedToken names: its owner keeps it; if it does not exist, the oldest ManagedToken that names it
// creates it.

import { TokensGroup } from '../../api/names.ts';
import { ManagedTokens } from '../../api/resources.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import { compareUtf8 } from '../../std/go-text.ts';
import { type StoredSecret, secretNameOf } from './secret.ts';
import type { StoredToken } from './spec.ts';

/** Returns whether the ManagedToken owns the object, and no other controller does. */
export function isOwnedBy({ ownerReferences = [] }: ObjectMeta, { metadata }: StoredToken): boolean {
  const controllers = ownerReferences.filter(({ controller }) => controller);
  return (
    metadata.uid !== undefined &&
    ownerReferences.some(({ uid }) => uid === metadata.uid) &&
    controllers.every(({ uid }) => uid === metadata.uid)
  );
}

/** Returns the name of the oldest ManagedToken that claims the Secret before this one; undefined if this one is first. */
export function earlierClaimant(token: StoredToken, claimants: readonly StoredToken[]): string | undefined {
  const earlier = (a: StoredToken, b: StoredToken) => (b.metadata.deletionTimestamp === undefined && byAge(b, a) < 0 ? b : a);
  const first = claimants.reduce(earlier, token);
  return first === token ? undefined : first.metadata.name;
}

/** Returns the claimants that a change of the Secret, or of another claimant, may concern: at most the 16 oldest. */
export function nextClaimants(claimants: readonly StoredToken[]): readonly StoredToken[] {
  if (claimants.length <= MAX_NEXT) return claimants;
  const oldest: StoredToken[] = [];
  for (const claimant of claimants) {
    const last = oldest.at(-1);
    if (oldest.length === MAX_NEXT && last !== undefined && byAge(claimant, last) >= 0) continue;
    const index = oldest.findIndex((other) => byAge(claimant, other) < 0);
    oldest.splice(index < 0 ? oldest.length : index, 0, claimant);
    if (oldest.length > MAX_NEXT) oldest.pop();
  }
  return oldest;
}

/** A tenant may name one Secret in any number of ManagedTokens; waking all of them with every change would be quadratic. */
const MAX_NEXT = 16;

/** The Secret that a ManagedToken names, and the ManagedToken with an earlier claim to it. */
export interface SecretClaim {
  readonly token: StoredToken;
  readonly secret: StoredSecret | undefined;
  readonly claimant?: string | undefined;
}

/** A Secret that another object owns or will own, or that Purser cannot write. */
export interface SecretConflict {
  readonly name: string;
  /** Name of the ManagedToken that owns or claims the Secret; undefined for another owner. */
  readonly owner: string | undefined;
  /** True if the Secret does not exist yet. */
  readonly isClaimed: boolean;
  /** True if this ManagedToken owns the Secret, and the metadata of the Secret is too large for Purser to write it without a loss. */
  readonly isTooLarge?: true;
  /** True if this ManagedToken owns the Secret, and Purser does not keep its metadata because the namespace is over its budget. */
  readonly isOverBudget?: true;
}

/** Returns the conflict over the Secret; undefined if this ManagedToken owns it or may create it. */
export function conflictOf({ token, secret, claimant }: SecretClaim): SecretConflict | undefined {
  const name = secretNameOf(token);
  if (secret === undefined) return claimant === undefined ? undefined : { name, owner: claimant, isClaimed: true };
  if (!isOwnedBy(secret.metadata, token)) return { name, owner: ownerOf(secret.metadata), isClaimed: false };
  if (secret.isTooLarge) return { name, owner: undefined, isClaimed: false, isTooLarge: true };
  return secret.isOverBudget ? { name, owner: undefined, isClaimed: false, isOverBudget: true } : undefined;
}

function ownerOf({ ownerReferences = [] }: ObjectMeta): string | undefined {
  const isManagedToken = (owner: { apiVersion: string; kind: string }) =>
    owner.kind === ManagedTokens.kind && owner.apiVersion.startsWith(`${TokensGroup}/`);
  return ownerReferences.find((owner) => owner.controller && isManagedToken(owner))?.name;
}

function byAge({ metadata: a }: StoredToken, { metadata: b }: StoredToken): number {
  return compareUtf8(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || compareUtf8(a.uid, b.uid);
}
