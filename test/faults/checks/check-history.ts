// All checks, applied to a complete history.

import { ofType, type Recorded } from '../history.ts';
import { authority, oneForEachCause, quiet } from './issuances.ts';
import { honesty, keeping, monotony, validity } from './samples.ts';
import {
  boundedFootprint,
  boundedWork,
  disclosures,
  heldTokens,
  pinnedAddresses,
  promptRotations,
  receivedTokens,
  revokedTokens,
  strayCredentials,
} from './tenants.ts';
import { bounds, isolation, withdrawal } from './timing.ts';
import type { Check, Violation } from './violation.ts';

const CHECKS: readonly Check[] = [
  validity,
  oneForEachCause,
  quiet,
  monotony,
  isolation,
  authority,
  bounds,
  honesty,
  withdrawal,
  keeping,
  heldTokens,
  receivedTokens,
  strayCredentials,
  promptRotations,
  revokedTokens,
  boundedFootprint,
  boundedWork,
  pinnedAddresses,
  disclosures,
];

/** Returns all violations, including those that scenarios recorded themselves (I6, I10), in order of time. */
export function checkHistory(history: readonly Recorded[]): readonly Violation[] {
  const recorded = ofType(history, 'violation');
  return [...recorded, ...CHECKS.flatMap((check) => check(history))].sort((a, b) => a.at - b.at);
}
