// One line in the log for every token that comes or goes. It names the token by its id alone.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import type { IssueReason } from '../api/reasons.ts';
import { objectKey } from '../kube/paths.ts';
import { instantText } from '../std/instant.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { TokenPlan } from './policy/plan.ts';
import type { TokenRecord } from './policy/record.ts';
import { tokenState } from './policy/state.ts';
import type { TokenDeps } from './run.ts';
import type { Step } from './step.ts';

type AuditDeps = Pick<TokenDeps, 'log' | 'clock'>;

/** Tells what carrying out a plan did to a token; nothing where it did nothing, or failed. */
export function auditStep(deps: AuditDeps, plan: TokenPlan, before: TokenObservation, { observation, issued, error }: Step): void {
  if (plan.type === 'issue' && issued !== undefined) tell(deps, plan.previous === undefined ? 'issued' : 'rotated', observation, issued);
  if (error !== undefined) return;
  if (plan.type === 'revoke') tell(deps, 'revoked', before, 'RevocationRequested');
  const isDeleted = before.token.metadata.deletionTimestamp !== undefined;
  if (plan.type === 'release' && plan.anchor === 'delete' && isDeleted) tell(deps, 'revoked', before, 'Deleted');
}

/** Tells that a token was removed because nobody may have it any more. */
export function auditWithdrawal(deps: AuditDeps, before: TokenObservation): void {
  tell(deps, 'withdrawn', before, 'Forbidden');
}

type Decision = 'issued' | 'rotated' | 'revoked' | 'withdrawn';

/** `observation` is that in which the token is there. */
function tell(
  { log, clock }: AuditDeps,
  decision: Decision,
  observation: TokenObservation,
  reason: IssueReason | 'Deleted' | 'Forbidden',
): void {
  const { token } = observation;
  const { record } = tokenState(observation, clock.now());
  const what = record === undefined ? reported(token) : recorded(record);
  log.info({ audit: 'ManagedToken', decision, key: objectKey(token), reason, ...what }, `a token was ${decision}`);
}

function recorded({ issuedFor, credentialId, expiresAt }: TokenRecord) {
  const [, , namespace, name] = issuedFor.subject.split(':');
  const { cluster, audiences } = issuedFor;
  return { cluster, serviceAccount: `${namespace}/${name}`, audiences, credentialID: credentialId, expiresAt: instantText(expiresAt) };
}

/** Where the Secret no longer says what was issued. */
function reported({ spec, status }: ManagedToken) {
  const { namespace, name } = spec.serviceAccount;
  const { credentialID, expirationTimestamp: expiresAt } = status ?? {};
  return { cluster: spec.clusterName, serviceAccount: `${namespace}/${name}`, audiences: spec.audiences, credentialID, expiresAt };
}
