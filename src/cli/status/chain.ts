// The chain of checks for one ManagedToken, from the permission to the Secret. Each link of the chain is one check with its verdict.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { ClusterConditionType } from '../../api/names.ts';
import type { Secret, ServiceAccount, Stored } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { toServiceAccountUsername } from '../../kubernetes/service-account.ts';
import { formatHumanDuration } from '../../kubernetes/wire/go-duration.ts';
import { toSentence } from '../../std/sentence.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { parseTokenClaims, type TokenClaims } from '../../targets/policy/token-claims.ts';
import { TOKEN_KEY } from '../../tokens/outputs/outputs.ts';
import { formatForbiddenMessage, formatMissingRequesterMessage } from '../../tokens/policy/messages.ts';
import { isOwnedBy, secretNameOf } from '../../tokens/policy/secret.ts';
import { CHECK_PURSER } from '../command.ts';
import { type ClusterChoice, formatContextOption } from '../quote-shell.ts';

/** Result of a check, or the permission or option that the user needs for it. */
export type CheckResult<T> = { readonly value: T } | { readonly needs: string };

/** Objects and request results from which the links of the chain are derived. */
export interface Evidence extends ClusterChoice {
  readonly token: Stored<ManagedToken>;
  /** True if the service account that requests the token exists. */
  readonly hasRequester: CheckResult<boolean>;
  /** RBAC resource name that permits the requester to issue the token; undefined if none does. */
  readonly issueName: CheckResult<string | undefined>;
  /** Most specific RBAC resource name for the permission to issue the token. */
  readonly exactName: string;
  readonly cluster: CheckResult<Stored<Cluster> | undefined>;
  /** Service account on the target cluster. */
  readonly serviceAccount: CheckResult<Stored<ServiceAccount> | undefined>;
  readonly secret: CheckResult<Stored<Secret> | undefined>;
  /** True if the target cluster accepts the token in the Secret; undefined if the Secret contains no token. */
  readonly isAccepted: CheckResult<boolean | undefined>;
}

export type Verdict = 'ok' | 'failed' | 'unchecked';

/** One link of the chain. If the link failed, `message` states the cause and, unless another link does, the remedy. */
export interface Link {
  readonly name: 'permission' | 'cluster' | 'service account' | 'token' | 'secret';
  readonly verdict: Verdict;
  readonly message: string;
}

/** Returns the links of the chain, from the permission to the Secret. */
export function toLinks(evidence: Evidence, now: number): readonly Link[] {
  return [
    toPermissionLink(evidence),
    toClusterLink(evidence, now),
    toServiceAccountLink(evidence),
    toTokenLink(evidence, now),
    toSecretLink(evidence),
  ];
}

function toOkLink(name: Link['name'], message: string): Link {
  return { name, verdict: 'ok', message };
}

function toFailedLink(name: Link['name'], message: string): Link {
  return { name, verdict: 'failed', message };
}

function toUncheckedLink(name: Link['name'], needs: string): Link {
  return { name, verdict: 'unchecked', message: `not checked (needs ${needs})` };
}

function toPermissionLink({ token: managed, hasRequester, issueName, exactName }: Evidence): Link {
  if ('value' in hasRequester && !hasRequester.value) return toFailedLink('permission', formatMissingRequesterMessage(managed));
  if ('needs' in issueName) return toUncheckedLink('permission', issueName.needs);
  if (issueName.value === undefined) return toFailedLink('permission', formatForbiddenMessage(managed, exactName));
  const { namespace } = managed.metadata;
  return toOkLink(
    'permission',
    `service account ${namespace}/${managed.spec.requesterServiceAccountName} may issue tokens for ${issueName.value}`,
  );
}

function toClusterLink({ token: { spec }, cluster: checked }: Evidence, now: number): Link {
  const name = spec.clusterName;
  if ('needs' in checked) return toUncheckedLink('cluster', checked.needs);
  if (checked.value === undefined)
    return toFailedLink(
      'cluster',
      `Cluster ${name} was not found. Register the cluster with purser cluster add, or change spec.clusterName.`,
    );
  const ready = findCondition(checked.value, ClusterConditionType.ready);
  if (ready?.status !== 'True') return toFailedLink('cluster', `Cluster ${name}: ${ready?.message ?? NOT_PROBED}`);
  const probedAt = parseTimestamp(checked.value.status?.lastProbeTime);
  return toOkLink(
    'cluster',
    `Cluster ${name} is ready${probedAt === undefined ? '' : `, probed at most ${formatHumanDuration(now - probedAt)} ago`}`,
  );
}

function toServiceAccountLink(evidence: Evidence): Link {
  const { token, serviceAccount: checked } = evidence;
  const { spec, status } = token;
  const { namespace, name } = spec.serviceAccount;
  const text = `service account ${namespace}/${name}`;
  if ('needs' in checked) return toUncheckedLink('service account', checked.needs);
  if (checked.value === undefined)
    return toFailedLink(
      'service account',
      `Service account ${namespace}/${name} was not found on the cluster. Create it, or change spec.serviceAccount.`,
    );
  const issuedFor = status?.serviceAccountUID;
  if (issuedFor !== undefined && issuedFor !== checked.value.metadata.uid)
    return toFailedLink(
      'service account',
      `Service account ${namespace}/${name} was re-created, so the token is no longer valid. ${formatReplacement(evidence)}`,
    );
  return toOkLink('service account', `${text} exists on the cluster`);
}

function toTokenLink(evidence: Evidence, now: number): Link {
  const { secret: checked, isAccepted } = evidence;
  if ('needs' in checked) return toUncheckedLink('token', checked.needs);
  if (checked.value === undefined) return toFailedLink('token', 'There is no token, because the Secret does not exist.');
  if (!isOwnedBy(checked.value.metadata, evidence.token))
    return toFailedLink('token', 'There is no token, because the Secret is not owned by the ManagedToken.');
  const text = decodeToken(checked.value);
  if (text === '') return toFailedLink('token', `The Secret contains no token. ${formatReplacement(evidence)}`);
  const claims = parseTokenClaims(text);
  const problem = claims && findClaimProblem(evidence, claims, now);
  if (problem !== undefined) return toFailedLink('token', problem);
  if ('value' in isAccepted && isAccepted.value === false)
    return toFailedLink('token', `The cluster rejects the token. ${formatReplacement(evidence)}`);
  const expiry = claims?.expiresAt === undefined ? 'is opaque' : `expires in ${formatHumanDuration(claims.expiresAt - now)}`;
  return toOkLink(
    'token',
    `token ${expiry}${'value' in isAccepted ? ', and the cluster accepts it' : `; acceptance not checked (needs ${isAccepted.needs})`}`,
  );
}

const NOT_PROBED = toSentence(`Purser has not probed the cluster yet. ${CHECK_PURSER}`);

/** Returns the remedy for a missing or unusable token. */
function formatReplacement({ token: { metadata, spec }, ...hub }: ClusterChoice & Pick<Evidence, 'token'>): string {
  const object = `${formatContextOption(hub)}mt/${metadata.name} -n ${metadata.namespace}`;
  if (spec.rotation.suspend) return `Rotation is suspended; resume rotation with purser resume ${object}.`;
  return `Request a new token with purser rotate ${object}.`;
}

function findClaimProblem(evidence: Evidence, { subject, audiences, expiresAt }: TokenClaims, now: number): string | undefined {
  const { spec } = evidence.token;
  if (expiresAt !== undefined && expiresAt <= now)
    return toSentence(`The token expired ${formatHumanDuration(now - expiresAt)} ago and is still in the Secret. ${CHECK_PURSER}`);
  if (subject !== toServiceAccountUsername(spec.serviceAccount))
    return `The token is for ${subject ?? 'an unknown user'}, not for spec.serviceAccount. ${formatReplacement(evidence)}`;
  const missing = (spec.audiences ?? []).filter((audience) => !audiences.includes(audience));
  return missing.length === 0 ? undefined : `The token lacks some of spec.audiences: ${missing.join(', ')}. ${formatReplacement(evidence)}`;
}

function toSecretLink({ token: managed, secret: checked }: Evidence): Link {
  const name = `Secret ${managed.metadata.namespace}/${secretNameOf(managed)}`;
  if ('needs' in checked) return toUncheckedLink('secret', checked.needs);
  if (checked.value === undefined) return toFailedLink('secret', `${name} does not exist. Purser creates the Secret with the next token.`);
  if (!isOwnedBy(checked.value.metadata, managed))
    return toFailedLink(
      'secret',
      `${name} is not owned by the ManagedToken. Choose another spec.secret.name, or delete the Secret if no other object owns it.`,
    );
  return toOkLink(
    'secret',
    `${name} holds ${Object.keys(checked.value.data ?? {})
      .sort()
      .join(', ')}`,
  );
}

/** Returns the token in a Secret; empty if there is none. */
export function decodeToken(found: Secret | undefined): string {
  return Buffer.from(found?.data?.[TOKEN_KEY] ?? '', 'base64').toString();
}
