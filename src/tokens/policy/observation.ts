// What is known when a ManagedToken is decided on: everything comes from informers, nothing is asked for.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import type { TokenClaims } from '../../targets/policy/token-claims.ts';
import type { TokenFailure } from './plan.ts';

/** A Secret without what is secret in it. */
export interface StoredSecret {
  readonly metadata: ObjectMeta;
  /** Present if the metadata was too large to be kept; labels, annotations and owners of others are missing then. */
  readonly isTooLarge?: true;
  readonly type: string;
  readonly immutable: boolean;
  /** `sha256:` and the digest of the key `token`; absent when there is no such key, or nothing in it. */
  readonly tokenDigest?: string;
  /** The same of `outputsText`: of all keys, with the token blanked out of them. */
  readonly outputsDigest: string;
  /** Absent when the token is opaque. */
  readonly claims?: TokenClaims;
}

/** What the target cluster last said of a token. It counts for that token alone. */
export interface Verdict {
  readonly tokenDigest: string;
  readonly accepted: boolean;
}

/** One ManagedToken and everything around it. */
export interface TokenObservation {
  readonly token: ManagedToken;
  readonly cluster: Cluster | undefined;
  /** The Secret of the wanted name, whoever owns it. */
  readonly secret: StoredSecret | undefined;
  /** Another ManagedToken, by name, that comes first if there is no such Secret. */
  readonly claimant?: string;
  /** Other Secrets that this ManagedToken owns: it had other names. */
  readonly former: readonly StoredSecret[];
  /** The digest of `outputsText` for what is wanted now; absent without the Cluster, and while `unwritable`. */
  readonly outputsDigest?: string;
  /** Reason not to write outputs: the registration of the Cluster, or the address in the spec, is not usable. */
  readonly unwritable?: TokenFailure;
  readonly verdict?: Verdict;
  /** When the token is next put to TokenReview; absent when it never is. */
  readonly verifyAt?: number;
  /** Earliest time of the next attempt to delete former anchors; undefined for now. */
  readonly anchorsAt?: number;
  /** The request to revoke that was acted on just now. */
  readonly revoked?: string;
  /** Failure of a revocation, release or issuance in this run, which tries no other; undefined if none failed. */
  readonly failed?: TokenFailure;
  /** When a token was last issued, as far as whoever looks remembers: it may not have been written. */
  readonly lastIssuedAt?: number;
}
