// Checks of what the prober saw: I1 validity, I4 monotone expiry, I9 honest status, I12 the last good token is kept.

import { type Invariant, type Of, ofType, type Recorded } from '../history.ts';
import { byToken, type Check, excuses, type Violation } from './violation.ts';

type Sampled = Of<'sample'>;
type Look = (now: Sampled, before: Sampled | undefined) => string | undefined;

/** While a Secret is being put right, its ManagedToken may be called ready. */
const REPAIR_MS = 12_000;

/** Every token that is called ready is one that its target accepts. */
export const validity: Check = (history) => {
  const excused = excuses(history, 'I1');
  return [...byToken(ofType(history, 'sample')).values()].flatMap((samples) => {
    let withoutSince = Infinity;
    return samples.flatMap((now): readonly Violation[] => {
      const isReady = now.ready === 'True';
      withoutSince = isReady && now.verdict === 'none' ? Math.min(withoutSince, now.at) : Infinity;
      const message = fault(now, isReady, now.at - withoutSince);
      return message === undefined || excused(now.token, now.at) ? [] : [{ invariant: 'I1', at: now.at, token: now.token, message }];
    });
  });
};

function fault({ verdict }: Sampled, isReady: boolean, withoutMs: number): string | undefined {
  if (isReady && verdict === 'refused') return 'called ready, and the target refuses its token';
  return withoutMs > REPAIR_MS ? 'called ready, and there is no token' : undefined;
}

/** Expiry never goes back. */
export const monotony: Check = (history) =>
  looks(history, 'I4', ({ secret, uid }, before) =>
    secret?.digest !== undefined && before?.uid === uid && (before.secret?.expiresAt ?? 0) > secret.expiresAt + 1_000
      ? `the expiry went back by ${((before.secret?.expiresAt ?? 0) - secret.expiresAt) / 1_000} s`
      : undefined,
  );

/** Of a Secret whose record was just taken away by somebody, nothing says when its token expires. */
function isExpired({ at, secret }: Sampled): boolean {
  return secret?.digest !== undefined && secret.expiresAt > 0 && secret.expiresAt < at - 2_000;
}

/** Status says what is. */
export const honesty: Check = (history) =>
  looks(history, 'I9', (now, before) => {
    if (now.observedGeneration > now.generation) return 'a generation was observed that does not exist';
    if (now.ready === 'True' && isExpired(now)) return 'called ready with an expired token';
    const isSame = before?.uid === now.uid && before.ready === now.ready && now.ready !== '' && before.readySince !== now.readySince;
    return isSame && Date.parse(now.readySince) < before.at - 2_000 ? 'the transition time changed without a transition' : undefined;
  });

/** While it cannot be renewed, a token stays until it expires. */
export const keeping: Check = (history) => {
  const withdrawn = withdrawals(history);
  return looks(history, 'I12', (now, before) =>
    before !== undefined && isLost(now, before) && !withdrawn(now.token, now.at) ? 'a valid token was taken away' : undefined,
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

function looks(history: readonly Recorded[], invariant: Invariant, look: Look): readonly Violation[] {
  const excused = excuses(history, invariant);
  return [...byToken(ofType(history, 'sample')).values()].flatMap((samples) =>
    samples.flatMap((now, index): readonly Violation[] => {
      const message = look(now, samples[index - 1]);
      return message === undefined || excused(now.token, now.at) ? [] : [{ invariant, at: now.at, token: now.token, message }];
    }),
  );
}

/** Whether a token's permission is withdrawn at a moment. */
export function withdrawals(history: readonly Recorded[]): (token: string, at: number) => boolean {
  const grants = byToken(ofType(history, 'grant'));
  return (token, at) => grants.get(token)?.findLast((grant) => grant.at <= at)?.allowed === false;
}
