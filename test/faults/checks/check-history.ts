// All checks, applied to a complete history.

import { ofType, type Recorded } from '../history.ts';
import { idleWrites, issuancesPerCause, permissions } from './issuances.ts';
import { credentialsInUse, replacedCredentials } from './renewals.ts';
import { expiryOrder, statusAccuracy, tokenRetention, validity } from './samples.ts';
import { fleetPermissions, fleetRemovals } from './sets.ts';
import {
  anchorLookups,
  disclosures,
  footprintLimits,
  heldTokens,
  pinnedAddresses,
  promptRotations,
  receivedTokens,
  revokedTokens,
  shownObjects,
  strayCredentials,
} from './tenants.ts';
import { isolation, resourceLimits, withdrawal } from './timing.ts';
import type { Check, Violation } from './violation.ts';

const CHECKS: readonly Check[] = [
  validity,
  issuancesPerCause,
  idleWrites,
  expiryOrder,
  isolation,
  permissions,
  resourceLimits,
  statusAccuracy,
  withdrawal,
  tokenRetention,
  heldTokens,
  receivedTokens,
  strayCredentials,
  promptRotations,
  revokedTokens,
  footprintLimits,
  anchorLookups,
  pinnedAddresses,
  disclosures,
  shownObjects,
  replacedCredentials,
  credentialsInUse,
  fleetPermissions,
  fleetRemovals,
];

/** Returns all violations, including those that scenarios recorded themselves (I6, I10), in order of time. */
export function checkHistory(history: readonly Recorded[]): readonly Violation[] {
  const recorded = ofType(history, 'violation');
  return [...recorded, ...CHECKS.flatMap((check) => check(history))].sort((a, b) => a.at - b.at);
}
