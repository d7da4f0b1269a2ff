// Secrets on the hub: created with POST, changed with PUT for one version of one object, never taken over.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Label, LabelValue } from '../api/names.ts';
import { type Secret, Secrets } from '../api/resources.ts';
import { objectKey } from '../kube/paths.ts';
import { StatusError } from '../kubernetes/status.ts';
import { orIssueError } from '../targets/issue-error.ts';
import type { TokenDeps } from './deps.ts';
import { unless } from './hub-answer.ts';
import type { StoredSecret, TokenObservation } from './policy/observation.ts';
import type { SecretWrite } from './policy/plan.ts';
import { secretNameOf, withoutToken } from './policy/secret.ts';
import { isOwnedBy } from './policy/secret-metadata.ts';
import { judgedSecret } from './policy/state.ts';
import { reduceSecret } from './reduce-secret.ts';
import { repaired, repairPauseMs } from './repairs.ts';

/** The Secret of this name in the ManagedToken's namespace, whole; undefined when there is none. Throws an IssueError. */
export async function readSecret(deps: TokenDeps, token: ManagedToken, name: string, signal: AbortSignal): Promise<Secret | undefined> {
  const { namespace } = token.metadata;
  return await orIssueError(unless(deps.hub.get(Secrets, { namespace, name }, { signal }), 'NotFound'), 'SecretReadFailed', signal);
}

/** The observation with the wanted Secret as the server has it. */
export async function lookAgain(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<TokenObservation> {
  const { token } = observation;
  const found = await readSecret(deps, token, secretNameOf(token), signal);
  const secret = found && reduceSecret(found);
  const isLabelled = secret?.metadata.labels?.[Label.managedBy] === LabelValue.managedBy;
  deps.memory.of(token.metadata.uid ?? '').saw(isLabelled ? undefined : secret, deps.clock.now());
  return { ...observation, secret };
}

/** Writes a Secret. Undefined when it is not what it was observed to be: then nothing was overwritten. */
export async function writeSecret(
  deps: TokenDeps,
  { token, secret: observed }: TokenObservation,
  { wanted, write }: { readonly wanted: Secret; readonly write: SecretWrite },
  signal: AbortSignal,
): Promise<StoredSecret | undefined> {
  if (write === 'replace' && !(await deleteSecret(deps, observed, signal))) return undefined;
  // One of a former name says nothing of the wanted one.
  const recollection = wanted.metadata.name === secretNameOf(token) ? deps.memory.of(token.metadata.uid ?? '') : undefined;
  recollection?.writes();
  try {
    const sent =
      write === 'update' ? deps.hub.update(Secrets, wanted, { signal }) : deps.hub.create(Secrets, withoutVersion(wanted), { signal });
    const written = await orIssueError(unless(sent, 'AlreadyExists', 'Conflict', 'NotFound'), 'SecretWriteFailed', signal);
    const secret = written && (informedOf(deps, written) ?? reduceSecret(written));
    if (secret !== undefined) recollection?.wrote(secret, observed, deps.clock.now());
    return secret;
  } finally {
    recollection?.wroteOrNot();
  }
}

/** The same version as the informer has it, if the watch was faster than the answer. */
function informedOf({ view }: TokenDeps, { metadata }: Secret): StoredSecret | undefined {
  const informed = view.secrets.get(objectKey({ metadata }));
  return informed?.metadata.resourceVersion === metadata.resourceVersion ? informed : undefined;
}

/** Deletes this very version of a Secret; false when it has changed. One that is gone is deleted. */
export async function deleteSecret(deps: TokenDeps, secret: StoredSecret | undefined, signal: AbortSignal): Promise<boolean> {
  const { namespace, name, uid, resourceVersion } = secret?.metadata ?? {};
  if (!name) return true;
  const preconditions = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) };
  const gone = unless(deps.hub.delete(Secrets, { namespace, name }, { ...preconditions, signal }), 'NotFound').then(() => true);
  return (await orIssueError(unless(gone, 'Conflict'), 'SecretWriteFailed', signal)) ?? false;
}

/** Deletes Secrets of ours. Throws the conflict if one has changed meanwhile. */
export async function deleteSecrets(
  deps: TokenDeps,
  observation: TokenObservation,
  names: readonly string[],
  signal: AbortSignal,
): Promise<TokenObservation> {
  const isNamed = (secret: StoredSecret | undefined) => names.includes(secret?.metadata.name ?? '');
  for (const secret of [observation.secret, ...observation.former].filter(isNamed)) {
    if (!(await deleteSecret(deps, secret, signal))) throw changedMeanwhile(secret);
  }
  deps.memory.of(observation.token.metadata.uid ?? '').saw(undefined, deps.clock.now());
  const secret = isNamed(observation.secret) ? undefined : observation.secret;
  return { ...observation, secret, former: observation.former.filter((former) => !isNamed(former)) };
}

/** Takes the token, in all its forms, out of the Secret that holds it; not while somebody puts it back again and again. */
export async function stripSecret(deps: TokenDeps, observation: TokenObservation, signal: AbortSignal): Promise<TokenObservation> {
  const { token } = observation;
  const judged = judgedSecret(observation);
  const name = judged?.metadata.name;
  if (name === undefined || repairPauseMs(deps, token) > 0) return observation;
  if (judged?.immutable || judged?.type !== 'Opaque') return await deleteSecrets(deps, observation, [name], signal);
  const found = await readSecret(deps, token, name, signal);
  if (found === undefined || !isOwnedBy(found.metadata, token)) throw changedMeanwhile(judged);
  const observed = { ...observation, secret: reduceSecret(found) };
  const stripped = await writeSecret(deps, observed, { wanted: withoutToken(found), write: 'update' }, signal);
  if (stripped === undefined) throw changedMeanwhile(judged);
  repaired(deps, token);
  if (name === secretNameOf(token)) return { ...observation, secret: stripped };
  return { ...observation, former: observation.former.map((former) => (former === judged ? stripped : former)) };
}

/** A conflict as the server would tell it: looked at again at once, and nobody's failure. */
function changedMeanwhile(secret: StoredSecret | undefined): StatusError {
  const { name = '' } = secret?.metadata ?? {};
  const message = `secrets "${name}" has been modified`;
  return new StatusError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason: 'Conflict', code: 409 });
}

function withoutVersion(secret: Secret): Secret {
  const { uid: _, resourceVersion: __, ...metadata } = secret.metadata;
  return { ...secret, metadata };
}
