// All checks, over a whole history.

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

/** Everything that must not have happened, those that scenarios noted themselves (I6, I10) included. */
export function checkHistory(history: readonly Recorded[]): readonly Violation[] {
  const noted = ofType(history, 'violation');
  return [...noted, ...CHECKS.flatMap((check) => check(history))].sort((a, b) => a.at - b.at);
}
