// A token on its way into its Secret, with everything that is made of it.

import { Sensitive } from '../std/sensitive.ts';
import { IssueError } from '../targets/issue-error.ts';
import { isIssuedWith } from '../targets/policy/issued-for.ts';
import { outputsOf, withRegistration } from './observe.ts';
import type { OutputTarget } from './outputs/forms.ts';
import type { TokenObservation } from './policy/observation.ts';
import type { IssuePlan, RewritePlan } from './policy/plan.ts';
import { planToken } from './policy/plan-token.ts';
import { parseRecord, type TokenRecord } from './policy/record.ts';
import { desiredSecret } from './policy/secret.ts';
import { digestOf, reduceSecret, tokenOf } from './reduce.ts';
import { pausedStep, repaired } from './repairs.ts';
import type { TokenDeps } from './run.ts';
import { lookAgain, readSecret, writeSecret } from './secrets.ts';
import type { Step } from './step.ts';

/** A token, and what is noted of it. */
export interface Holder {
  readonly record: TokenRecord;
  readonly token: Sensitive<string>;
  /** Outputs that the credential of the token covers. */
  readonly outputs: OutputTarget;
}

const MAX_WRITES = 4;

/** Writes a token. When the Secret is not what it was, decides again: a token that is no longer needed is dropped. */
export async function writeToken(
  deps: TokenDeps,
  plan: Pick<IssuePlan, 'write'>,
  { observation, holder }: { readonly observation: TokenObservation; readonly holder: Holder },
  signal: AbortSignal,
): Promise<{ readonly observation: TokenObservation; readonly isWritten: boolean }> {
  const { lastIssuedAt: _, ...seen } = observation;
  let current: TokenObservation = seen;
  let how = plan.write;
  for (let writes = 1; writes <= MAX_WRITES; writes++) {
    const secret = await writeSecret(deps, current, { wanted: wantedSecret(current, holder), write: how }, signal);
    if (secret !== undefined) return { observation: { ...current, secret }, isWritten: true };
    current = await lookAgain(deps, current, signal);
    const again = planToken(current, deps.clock.now(), deps.settings.limits);
    if (again.type !== 'issue') return { observation: current, isWritten: false };
    how = again.write;
  }
  throw new IssueError('SecretWriteFailed', 'somebody else changes it all the time');
}

function wantedSecret({ token, secret }: TokenObservation, { record, token: text, outputs: target }: Holder) {
  return desiredSecret({ token, record, target, digestOf, ...(secret && { existing: secret.metadata }) }, text.reveal());
}

/** Returns the outputs for a token that exists; undefined if the token's credential does not cover the Cluster any more. */
function outputsFor(
  { view, clients }: TokenDeps,
  { token, unwritable }: TokenObservation,
  { issuedFor }: TokenRecord,
): OutputTarget | undefined {
  const registered = view.registered(token.spec.clusterName);
  if (registered === undefined || unwritable !== undefined || !isIssuedWith(issuedFor, registered.cluster)) return undefined;
  return outputsOf(token, clients.endpointsOf(registered));
}

/** The token that is there, in the forms that are wanted now. */
export async function rewrite(deps: TokenDeps, plan: RewritePlan, observation: TokenObservation, signal: AbortSignal): Promise<Step> {
  const { token } = observation;
  const paused = pausedStep(deps, plan, observation);
  if (paused !== undefined) return paused;
  const found = await readSecret(deps, token, plan.from, signal);
  const text = found === undefined ? '' : tokenOf(found);
  const { secret, former } = observation;
  const isFormer = plan.from !== secret?.metadata.name;
  const fresh = found && reduceSecret(found);
  const rest = former.filter(({ metadata }) => metadata.name !== plan.from);
  const current = withRegistration(deps, observation);
  const seen: TokenObservation = isFormer ? { ...current, former: fresh ? [fresh, ...rest] : rest } : { ...current, secret: fresh };
  const isSame = plan.record.tokenDigest === digestOf(text) && parseRecord(fresh?.metadata.annotations) !== undefined;
  const outputs = isSame ? outputsFor(deps, seen, plan.record) : undefined;
  if (outputs === undefined) return { observation: seen, isDone: false };
  const wanted = wantedSecret(seen, { record: plan.record, token: new Sensitive(text), outputs });
  const written = await writeSecret(deps, seen, { wanted, write: plan.write }, signal);
  if (written === undefined) return { observation: await lookAgain(deps, seen, signal), isDone: false };
  repaired(deps, token);
  return { observation: { ...seen, secret: written }, isDone: false };
}
