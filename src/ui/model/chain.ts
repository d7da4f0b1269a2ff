// The chain of one token, from its cluster to its Secret: every link must work before the Secret can contain a valid token. The reason of a
// condition determines the link that failed.

import type { Token } from './objects.ts';
import { explanationOf, isUsable, tokenStateOf } from './states.ts';

export const LINKS = ['cluster', 'permission', 'account', 'token', 'secret'] as const;
export type LinkName = (typeof LINKS)[number];

export type Verdict = 'ok' | 'failed' | 'waiting' | 'unknown';

/** One link of the chain. `reason` and `message` are those of the condition that explains the verdict; empty if there is none. */
export interface Link {
  readonly name: LinkName;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly message: string;
}

/** Labels of verdicts. */
export const VERDICT_WORDS: Readonly<Record<Verdict, string>> = {
  ok: 'OK',
  failed: 'Failed',
  waiting: 'Waiting',
  unknown: 'Not reached',
};

/** Reasons by the link that fails. For all other reasons, the token link fails. */
const REASONS: Readonly<Record<Exclude<LinkName, 'token'>, readonly string[]>> = {
  cluster: [
    'ClusterNotFound',
    'ClusterUnreachable',
    'ClusterTimeout',
    'TLSVerifyFailed',
    'CredentialMissing',
    'CredentialRejected',
    'CredentialNotForCluster',
    'EndpointNotPinned',
    'CANotPinned',
    'EndpointConflict',
    'HubTokenForbidden',
    'HubTokenFailed',
    'NamespaceNotAllowed',
    'AddressNotAllowed',
    'IdentityUnknown',
    'TargetForbidden',
    'TargetThrottled',
    'TargetFailed',
    'ResponseUntrusted',
    'CircuitOpen',
  ],
  permission: ['Forbidden', 'WithdrawalPending', 'MassWithdrawal', 'RemovalDelayed', 'AuthorizationFailed'],
  account: ['ServiceAccountNotFound', 'BoundObjectNotFound', 'OwnNamespace'],
  secret: ['SecretConflict', 'SecretReadFailed', 'SecretWriteFailed'],
};

const LINK_BY_REASON: ReadonlyMap<string, LinkName> = new Map(
  Object.entries(REASONS).flatMap(([link, reasons]) => reasons.map((reason) => [reason, link as LinkName] as const)),
);

/** Returns the link that fails for a reason. */
export function chainLinkOf(reason: string): LinkName {
  return LINK_BY_REASON.get(reason) ?? 'token';
}

/** Returns the links of a token's chain, from the cluster to the Secret. */
export function toChain(token: Token, now: number): readonly Link[] {
  const state = tokenStateOf(token, now);
  const condition = explanationOf(token);
  if (state === 'ready' || condition === undefined)
    return LINKS.map((name) => ({ name, verdict: condition ? 'ok' : 'waiting', ...NO_CAUSE }));
  // A valid token passed the whole chain when it was issued.
  const rest: Verdict = isUsable(token, now) ? 'ok' : 'unknown';
  if (state === 'suspended' || state === 'expiring') return LINKS.map((name) => ({ name, verdict: rest, ...NO_CAUSE }));
  const { reason, message } = condition;
  const broken = LINKS.indexOf(chainLinkOf(reason));
  // A token expires before the condition shows it.
  const cause = condition.type === 'Ready' && condition.status === 'True' ? NO_CAUSE : { reason, message };
  return LINKS.map((name, index) => {
    if (index === broken) return { name, verdict: state === 'pending' ? 'waiting' : 'failed', ...cause };
    return { name, verdict: index < broken ? 'ok' : rest, ...NO_CAUSE };
  });
}

const NO_CAUSE = { reason: '', message: '' } as const;

/** A command to copy, and its purpose. */
export interface Command {
  readonly purpose: string;
  readonly text: string;
}

/** Returns the commands to show in the details of a token, depending on its state. */
export function listCommands(token: Token, now: number): readonly Command[] {
  const { namespace, name, isSuspended } = token;
  const state = tokenStateOf(token, now);
  const object = `mt/${name} -n ${namespace}`;
  return [
    ...(state === 'ready' || state === 'suspended' ? [] : [{ purpose: 'Check each link live', text: `purser status ${object}` }]),
    { purpose: 'Show conditions and events', text: `kubectl describe managedtoken ${name} -n ${namespace}` },
    ...(isSuspended
      ? [{ purpose: 'Resume rotation', text: `purser resume ${object}` }]
      : [{ purpose: 'Request a new token', text: `purser rotate ${object}` }]),
  ];
}
