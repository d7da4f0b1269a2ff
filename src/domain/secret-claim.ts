// Who may make a Secret that several ManagedTokens want: the oldest, whoever is quicker. The owner of one that is there
// keeps it.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { TokensGroup } from '../api/names.ts';
import { ManagedTokens } from '../api/resources.ts';
import type { ObjectMeta } from '../api/wire.ts';
import { compareUtf8 } from '../std/go-text.ts';
import { isOwnedBy } from './token-metadata.ts';
import type { TokenObservation } from './token-observation.ts';
import { secretNameOf } from './token-secret.ts';

/** The name of the one among the claimants that comes before this one; undefined when none does. */
export function earlierClaimant(token: ManagedToken, claimants: readonly ManagedToken[]): string | undefined {
  const [first] = claimants.filter(({ metadata }) => metadata.deletionTimestamp === undefined).toSorted(byAge);
  return first === undefined || byAge(token, first) <= 0 ? undefined : first.metadata.name;
}

/** A Secret that another object owns, or will. */
export interface SecretConflict {
  readonly name: string;
  /** Name of the ManagedToken that owns or claims the Secret; undefined for another owner. */
  readonly owner: string | undefined;
  /** Whether the Secret does not exist yet. */
  readonly isClaimed: boolean;
}

/** Returns why the wanted Secret is not this ManagedToken's; undefined when it is, or may be created. */
export function conflictOf({ token, secret, claimant }: TokenObservation): SecretConflict | undefined {
  const name = secretNameOf(token);
  if (secret === undefined) return claimant === undefined ? undefined : { name, owner: claimant, isClaimed: true };
  return isOwnedBy(secret.metadata, token) ? undefined : { name, owner: ownerOf(secret.metadata), isClaimed: false };
}

function ownerOf({ ownerReferences = [] }: ObjectMeta): string | undefined {
  const isManagedToken = (owner: { apiVersion: string; kind: string }) =>
    owner.kind === ManagedTokens.kind && owner.apiVersion.startsWith(`${TokensGroup}/`);
  return ownerReferences.find((owner) => owner.controller && isManagedToken(owner))?.name;
}

function byAge({ metadata: a }: ManagedToken, { metadata: b }: ManagedToken): number {
  return compareUtf8(a.creationTimestamp ?? '', b.creationTimestamp ?? '') || compareUtf8(a.uid ?? '', b.uid ?? '');
}
