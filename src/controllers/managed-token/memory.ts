// What the controller remembers of each ManagedToken between two looks at it. All of it may be lost: a restart costs a
// few questions, never a token.

import type { ManagedTokenStatus } from '../../api/managed-token.gen.ts';
import type { StoredSecret, Verdict } from '../../domain/token-observation.ts';
import type { TokenFailure } from '../../domain/token-plan.ts';
import { doubledMs } from '../../std/backoff.ts';

/** What is remembered of one ManagedToken. */
export class Recollection {
  /** The name under which RBAC allowed the last issuance. */
  allowedAs: string | undefined;
  /** Whether a review said yes since RBAC last changed for the requester. */
  isConfirmed = false;
  /** The first and the last of the reviews that said no, with no yes in between. */
  refusedAt: readonly number[] = [];
  /** What came of the last attempt, if it failed. */
  failure: TokenFailure | undefined;
  verdict: Verdict | undefined;
  verifiedAt: number | undefined;
  /** The status that was sent last. */
  status: ManagedTokenStatus | undefined;
  /** A Secret of the wanted name that the informer does not see, since it does not carry our label. */
  unlabelled: { readonly secret: StoredSecret; readonly seenAt: number } | undefined;
  lastIssuedAt: number | undefined;
  /** No token is issued before: the last ones could not be written. */
  pauseUntil = -Infinity;
  #unwritten = 0;
  #written: Written | undefined;

  refused(now: number): void {
    this.isConfirmed = false;
    this.refusedAt = [this.refusedAt[0] ?? now, now];
  }

  allowed(name: string): void {
    this.allowedAs = name;
    this.isConfirmed = true;
    this.refusedAt = [];
  }

  /** A token was issued; until it is written, ever longer pauses follow. */
  issued(now: number): void {
    this.lastIssuedAt = now;
    this.pauseUntil = now + doubledMs(this.#unwritten++, PAUSES);
  }

  /** The Secret was written in the place of `replaced`; its informer will know in a moment. */
  wrote(secret: StoredSecret, replaced: StoredSecret | undefined, now: number): void {
    this.#unwritten = 0;
    this.pauseUntil = -Infinity;
    this.unlabelled = undefined;
    this.#written = { secret, replacedVersion: replaced?.metadata.resourceVersion, writtenAt: now };
  }

  /** The Secret as it is: what the informer has, or what was written since. */
  latest(informed: StoredSecret | undefined, name: string, now: number): StoredSecret | undefined {
    if (this.#written !== undefined && !isAhead(this.#written, informed, now)) this.#written = undefined;
    const written = this.#written?.secret;
    if (written?.metadata.name === name) return written;
    return informed ?? (this.unlabelled?.secret.metadata.name === name ? this.unlabelled.secret : undefined);
  }

  /** The server was asked for the Secret of the wanted name; `unlabelled` is what it has and no informer sees. */
  saw(unlabelled: StoredSecret | undefined, now: number): void {
    this.unlabelled = unlabelled && { secret: unlabelled, seenAt: now };
    this.forgetWritten();
  }

  /** Something else happened to the Secret: what the informer has is newer. */
  forgetWritten(): void {
    this.#written = undefined;
  }
}

/** Recollections by the UIDs of ManagedTokens. */
export class TokenMemory {
  readonly #recollections = new Map<string, Recollection>();

  of(uid: string): Recollection {
    const known = this.#recollections.get(uid) ?? new Recollection();
    this.#recollections.set(uid, known);
    return known;
  }

  forget(uid: string): void {
    this.#recollections.delete(uid);
  }

  /** How many have been refused and not removed. */
  countRefused(): number {
    return [...this.#recollections.values()].filter(({ refusedAt }) => refusedAt.length > 0).length;
  }
}

interface Written {
  readonly secret: StoredSecret;
  readonly replacedVersion: string | undefined;
  readonly writtenAt: number;
}

const PAUSES = { initialMs: 10_000, maxMs: 300_000 };
/** An informer that is further behind has started over. */
const LONGEST_LAG_MS = 30_000;

function isAhead({ replacedVersion, writtenAt }: Written, informed: StoredSecret | undefined, now: number): boolean {
  return informed?.metadata.resourceVersion === replacedVersion && now - writtenAt < LONGEST_LAG_MS && now >= writtenAt;
}
