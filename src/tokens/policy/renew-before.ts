// spec.rotation.renewBefore: a share of the granted lifetime, or a duration.

import { parseDuration } from '../../std/duration.ts';

/** How long before its expiry a token is renewed. What is not valid counts as the default, 20%. */
export function renewBeforeMs(text: string, lifetimeMs: number): number {
  const share = /^(\d{1,2})%$/.exec(text)?.[1];
  if (share !== undefined && Number(share) >= 1 && Number(share) <= 90) return (lifetimeMs * Number(share)) / 100;
  return durationMs(text) ?? lifetimeMs / 5;
}

/** The schema allows no more; numbers without end would take time without end. */
const MAX_LENGTH = 32;

function durationMs(text: string): number | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  try {
    const ms = parseDuration(text);
    return ms > 0 ? ms : undefined;
  } catch {
    return undefined;
  }
}
