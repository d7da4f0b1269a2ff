// What the controller remembers of each ManagedToken between two looks at it. All of it may be lost: a restart costs a
// few questions, never a token.

import type { ManagedToken, ManagedTokenStatus } from '../../api/managed-token.gen.ts';
import type { StoredSecret, Verdict } from '../../domain/token-observation.ts';
import type { TokenFailure } from '../../domain/token-plan.ts';
import { doubledMs } from '../../std/backoff.ts';
import { OwnWrite } from './own-write.ts';

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
  /** The ManagedToken and the Secret of the wanted name, as we wrote them. */
  readonly token = new OwnWrite<ManagedToken>();
  readonly secret = new OwnWrite<StoredSecret>();
  #unwritten = 0;

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

  /** The ManagedToken as it is after a write of ours; an answer about something else tells nothing. */
  wroteToken(answer: ManagedToken, before: ManagedToken, now: number): ManagedToken {
    if (answer.metadata.uid !== before.metadata.uid) return before;
    this.token.wrote(answer, before, now);
    return answer;
  }

  /** The Secret was written in the place of `replaced`. */
  wrote(secret: StoredSecret, replaced: StoredSecret | undefined, now: number): void {
    this.#unwritten = 0;
    this.pauseUntil = -Infinity;
    this.unlabelled = undefined;
    this.secret.wrote(secret, replaced, now);
  }

  /** The server was asked for the Secret of the wanted name; `unlabelled` is what it has and no informer sees. */
  saw(unlabelled: StoredSecret | undefined, now: number): void {
    this.unlabelled = unlabelled && { secret: unlabelled, seenAt: now };
    this.secret.forget();
  }

  /** The Secret of the wanted name, as far as is known; `informed` is what the informer has. */
  latestSecret(informed: StoredSecret | undefined, name: string, now: number): StoredSecret | undefined {
    return [this.secret.latest(informed, now), this.unlabelled?.secret].find((secret) => secret?.metadata.name === name);
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

const PAUSES = { initialMs: 10_000, maxMs: 300_000 };
