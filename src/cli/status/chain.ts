// The chain of checks for one ManagedToken, from the permission to the Secret. Each link of the chain is one check with its verdict.

import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { ClusterConditionType } from '../../api/names.ts';
import type { Secret, ServiceAccount, Stored } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { toServiceAccountUsername } from '../../kubernetes/service-account.ts';
import { humanDuration } from '../../kubernetes/wire/go-duration.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { parseTokenClaims, type TokenClaims } from '../../targets/policy/token-claims.ts';
import { TOKEN_KEY } from '../../tokens/outputs/outputs.ts';
import { forbiddenMessage, requesterMissingMessage } from '../../tokens/policy/messages.ts';
import { isOwnedBy, secretNameOf } from '../../tokens/policy/secret.ts';

/** Result of a check, or the permission or option that the user needs for it. */
export type CheckResult<T> = { readonly value: T } | { readonly needs: string };

/** Objects and request results from which the links of the chain are derived. */
export interface Evidence {
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

/** One link of the chain. If the link failed, `message` states cause and remedy. */
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

function ok(name: Link['name'], message: string): Link {
  return { name, verdict: 'ok', message };
}

function failed(name: Link['name'], message: string): Link {
  return { name, verdict: 'failed', message };
}

function unchecked(name: Link['name'], needs: string): Link {
  return { name, verdict: 'unchecked', message: `not checked (needs ${needs})` };
}

function toPermissionLink({ token: managed, hasRequester, issueName, exactName }: Evidence): Link {
  if ('value' in hasRequester && !hasRequester.value) return failed('permission', requesterMissingMessage(managed));
  if ('needs' in issueName) return unchecked('permission', issueName.needs);
  if (issueName.value === undefined) return failed('permission', forbiddenMessage(managed, exactName));
  const { namespace } = managed.metadata;
  return ok(
    'permission',
    `service account ${namespace}/${managed.spec.requesterServiceAccountName} may issue tokens for ${issueName.value}`,
  );
}

function toClusterLink({ token: { spec }, cluster: checked }: Evidence, now: number): Link {
  const name = spec.clusterName;
  if ('needs' in checked) return unchecked('cluster', checked.needs);
  if (checked.value === undefined) return failed('cluster', `Cluster ${name} was not found. Register it, or change spec.clusterName.`);
  const ready = findCondition(checked.value, ClusterConditionType.ready);
  if (ready?.status !== 'True') return failed('cluster', `Cluster ${name}: ${ready?.message ?? 'Purser has not probed it yet.'}`);
  const probedAt = parseTimestamp(checked.value.status?.lastProbeTime);
  return ok('cluster', `Cluster ${name} is ready${probedAt === undefined ? '' : `, probed at most ${humanDuration(now - probedAt)} ago`}`);
}

function toServiceAccountLink({ token: { spec, status }, serviceAccount: checked }: Evidence): Link {
  const { namespace, name } = spec.serviceAccount;
  const text = `service account ${namespace}/${name}`;
  if ('needs' in checked) return unchecked('service account', checked.needs);
  if (checked.value === undefined)
    return failed(
      'service account',
      `Service account ${namespace}/${name} was not found on the cluster. Create it, or change spec.serviceAccount.`,
    );
  const issuedFor = status?.serviceAccountUID;
  if (issuedFor !== undefined && issuedFor !== checked.value.metadata.uid)
    return failed(
      'service account',
      `Service account ${namespace}/${name} was re-created, so the token is no longer valid. Purser replaces the token.`,
    );
  return ok('service account', `${text} exists on the cluster`);
}

function toTokenLink({ token: managed, secret: checked, isAccepted }: Evidence, now: number): Link {
  if ('needs' in checked) return unchecked('token', checked.needs);
  if (checked.value === undefined) return failed('token', 'There is no token, because the Secret does not exist.');
  const text = tokenTextOf(checked.value);
  if (text === '') return failed('token', `The Secret contains no token. ${ROTATE}`);
  const claims = parseTokenClaims(text);
  const problem = claims && claimProblem(managed, claims, now);
  if (problem !== undefined) return failed('token', problem);
  if ('value' in isAccepted && isAccepted.value === false) return failed('token', `The cluster rejects the token. ${ROTATE}`);
  const expiry = claims?.expiresAt === undefined ? 'is opaque' : `expires in ${humanDuration(claims.expiresAt - now)}`;
  return ok(
    'token',
    `token ${expiry}${'value' in isAccepted ? ', and the cluster accepts it' : `; acceptance not checked (needs ${isAccepted.needs})`}`,
  );
}

const ROTATE = 'Request a new token with purser rotate.';

function claimProblem({ spec }: Stored<ManagedToken>, { subject, audiences, expiresAt }: TokenClaims, now: number): string | undefined {
  if (expiresAt !== undefined && expiresAt <= now) return `The token expired ${humanDuration(now - expiresAt)} ago. ${ROTATE}`;
  if (subject !== toServiceAccountUsername(spec.serviceAccount))
    return `The token is for ${subject ?? 'an unknown user'}, not for spec.serviceAccount. ${ROTATE}`;
  const missing = (spec.audiences ?? []).filter((audience) => !audiences.includes(audience));
  return missing.length === 0 ? undefined : `The token lacks the audience ${missing.join(', ')} of spec.audiences. ${ROTATE}`;
}

function toSecretLink({ token: managed, secret: checked }: Evidence): Link {
  const name = `Secret ${managed.metadata.namespace}/${secretNameOf(managed)}`;
  if ('needs' in checked) return unchecked('secret', checked.needs);
  if (checked.value === undefined) return failed('secret', `${name} does not exist. Purser creates the Secret with the next token.`);
  if (!isOwnedBy(checked.value.metadata, managed))
    return failed(
      'secret',
      `${name} is not owned by the ManagedToken. Choose another spec.secret.name, or delete the Secret if no other object owns it.`,
    );
  return ok(
    'secret',
    `${name} holds ${Object.keys(checked.value.data ?? {})
      .sort()
      .join(', ')}`,
  );
}

/** Returns the token in a Secret; empty if there is none. */
export function tokenTextOf(found: Secret | undefined): string {
  return Buffer.from(found?.data?.[TOKEN_KEY] ?? '', 'base64').toString();
}
