// Checks of samples: valid tokens (I1), increasing expiry (I4), correct status (I9), retention of valid tokens (I12).

import { type Invariant, type Of, ofType, type Recorded } from '../history.ts';
import { type Check, findExcuses, groupByToken, type Violation } from './violation.ts';

type Sampled = Of<'sample'>;
type SampleCheck = (now: Sampled, before: Sampled | undefined) => string | undefined;

/** Time for the repair of a Secret, during which its ManagedToken may be Ready, in milliseconds. */
const REPAIR_MS = 12_000;

/** Finds Ready ManagedTokens whose target rejects the token, or that have no token for longer than a repair takes. */
export const validity: Check = (history) => {
  const excused = findExcuses(history, 'I1');
  return [...groupByToken(ofType(history, 'sample')).values()].flatMap((samples) => {
    let withoutSince = Infinity;
    return samples.flatMap((now): readonly Violation[] => {
      const isReady = now.ready === 'True';
      withoutSince = isReady && now.verdict === 'none' ? Math.min(withoutSince, now.at) : Infinity;
      const message = describeFault(now, isReady, now.at - withoutSince);
      return message === undefined || excused(now.token, now.at) ? [] : [{ invariant: 'I1', at: now.at, token: now.token, message }];
    });
  });
};

function describeFault({ verdict }: Sampled, isReady: boolean, withoutMs: number): string | undefined {
  if (isReady && verdict === 'rejected') return 'Ready, but the target rejects its token';
  return withoutMs > REPAIR_MS ? 'Ready, but without a token' : undefined;
}

/** Finds tokens whose expiry decreases. */
export const expiryOrder: Check = (history) =>
  compareSamples(history, 'I4', ({ secret, uid }, before) =>
    secret?.digest !== undefined && before?.uid === uid && (before.secret?.expiresAt ?? 0) > secret.expiresAt + 1_000
      ? `expiry decreased by ${((before.secret?.expiresAt ?? 0) - secret.expiresAt) / 1_000} s`
      : undefined,
  );

/** Returns true if the token in a Secret has expired; a Secret whose annotations were removed has no expiry. */
function isExpired({ at, secret }: Sampled): boolean {
  return secret?.digest !== undefined && secret.expiresAt > 0 && secret.expiresAt < at - 2_000;
}

/** Finds statuses that contradict the Secret, and transition times that change without a transition. */
export const statusAccuracy: Check = (history) =>
  compareSamples(history, 'I9', (now, before) => {
    if (now.observedGeneration > now.generation) return 'observed a generation that does not exist';
    if (now.ready === 'True' && isExpired(now)) return 'Ready with an expired token';
    const isSame = before?.uid === now.uid && before.ready === now.ready && now.ready !== '' && before.readySince !== now.readySince;
    return isSame && Date.parse(now.readySince) < before.at - 2_000 ? 'transition time changed without a transition' : undefined;
  });

/** Finds valid tokens that were removed although their permission was not withdrawn. */
export const tokenRetention: Check = (history) => {
  const withdrawn = findWithdrawals(history);
  const grants = groupByToken(ofType(history, 'grant'));
  // On a busy machine, the permission may be withdrawn and granted again between two samples.
  const wasWithdrawn = (token: string, from: number, to: number) =>
    withdrawn(token, from) || (grants.get(token) ?? []).some(({ at, allowed }) => !allowed && at > from && at <= to);
  return compareSamples(history, 'I12', (now, before) =>
    before !== undefined && isLost(now, before) && !wasWithdrawn(now.token, before.at, now.at) ? 'a valid token was removed' : undefined,
  );
};

function isLost(now: Sampled, before: Sampled): boolean {
  const { digest, expiresAt } = before.secret ?? { expiresAt: 0 };
  return (
    now.ready !== 'unknown' &&
    before.uid === now.uid &&
    digest !== undefined &&
    now.secret?.digest === undefined &&
    expiresAt > now.at + 1_000
  );
}

function compareSamples(history: readonly Recorded[], invariant: Invariant, check: SampleCheck): readonly Violation[] {
  const excused = findExcuses(history, invariant);
  return [...groupByToken(ofType(history, 'sample')).values()].flatMap((samples) =>
    samples.flatMap((now, index): readonly Violation[] => {
      const message = check(now, samples[index - 1]);
      return message === undefined || excused(now.token, now.at) ? [] : [{ invariant, at: now.at, token: now.token, message }];
    }),
  );
}

/** Returns a predicate for tokens whose permission is withdrawn at a given time. */
export function findWithdrawals(history: readonly Recorded[]): (token: string, at: number) => boolean {
  const grants = groupByToken(ofType(history, 'grant'));
  return (token, at) => grants.get(token)?.findLast((grant) => grant.at <= at)?.allowed === false;
}
