// `purser rotate`, `revoke`, `suspend` and `resume`: request a change to a ManagedToken, and wait until Purser has made it.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Annotation, TokenConditionType } from '../api/names.ts';
import { ManagedTokens, type Stored } from '../api/resources.ts';
import type { Patch } from '../kube/client.ts';
import { ignoreReasons } from '../kubernetes/status.ts';
import { formatHumanDuration } from '../kubernetes/wire/go-duration.ts';
import { parseTimestamp } from '../std/timestamp.ts';
import type { Peer } from './cluster/peer.ts';
import { CHECK_PURSER, CommandError, type CommandHost, ExitCode } from './command.ts';
import { poll } from './poll.ts';
import { formatContextOption } from './quote-shell.ts';

export type TokenAction = 'rotate' | 'revoke' | 'suspend' | 'resume';

export interface TokenChange {
  readonly hub: Peer;
  readonly namespace: string;
  readonly name: string;
  readonly action: TokenAction;
  /** Maximum time to wait for Purser, in milliseconds; 0 to return without waiting. */
  readonly timeoutMs: number;
}

/**
 * Requests the change and waits until Purser has made it. Throws a CommandError if the ManagedToken does not exist, if the change would
 * have no effect, or if the timeout expires; errors of requests pass unchanged.
 */
export async function requestChange(change: TokenChange, host: CommandHost): Promise<void> {
  const { hub, namespace, name, action, timeoutMs } = change;
  const { check, patch, isDone, describeResult, describePart } = ACTIONS[action];
  const title = `ManagedToken ${namespace}/${name}`;
  const context = formatContextOption(hub);
  const found = await ignoreReasons(hub.client.get(ManagedTokens, { namespace, name }), 'NotFound');
  if (found === undefined) throw new CommandError(`${title} was not found. List ManagedTokens with kubectl ${context}get managedtokens -A`);
  const problem = check?.(found, context);
  if (problem !== undefined) throw new CommandError(`${title} ${problem}`);
  const value = new Date(host.clock.now()).toISOString();
  const requested = await hub.client.patch(ManagedTokens, { namespace, name }, patch(value));
  if (timeoutMs === 0) return host.print(`${title}: ${action} requested.\n`);
  const { changed, latest } = await waitUntil(
    change,
    host,
    (token) => token.metadata.uid === found.metadata.uid && isDone(token, value, requested),
  );
  if (changed !== undefined) return host.print(`${title} ${describeResult(changed, host.clock.now())}.\n`);
  const part = latest?.metadata.uid === found.metadata.uid ? describePart?.(latest, value, requested) : undefined;
  const state = part === undefined ? `Purser has not completed the request to ${action} ${title}` : `${title} ${part}`;
  throw new CommandError(`${state}${latest === undefined ? '' : describeCause(latest)}`, ExitCode.notReady);
}

interface Action {
  /**
   * Returns the reason why the action would have no effect, as the predicate of a sentence; undefined if the action has an effect.
   * `context` is the option that selects the hub in a command, and a space; empty for the current context.
   */
  readonly check?: (token: ManagedToken, context: string) => string | undefined;
  readonly patch: (value: string) => Patch;
  readonly isDone: (token: ManagedToken, value: string, requested: ManagedToken) => boolean;
  /** Returns the result, as the predicate of a sentence. */
  readonly describeResult: (token: ManagedToken, now: number) => string;
  /** Returns the completed part of an incomplete action, as the predicate of a sentence; undefined if no part is complete. */
  readonly describePart?: (token: ManagedToken, value: string, requested: ManagedToken) => string | undefined;
}

const ACTIONS: Readonly<Record<TokenAction, Action>> = {
  rotate: {
    check: ({ spec, metadata: { namespace, name } }, context) =>
      spec.rotation.suspend ? `is suspended. Resume rotation with purser resume ${context}mt/${name} -n ${namespace}` : undefined,
    patch: (value) => ({ metadata: { annotations: { [Annotation.rotate]: value } } }),
    isDone: (token, value) => token.status?.lastRotateRequest === value && isReady(token),
    describeResult: (token, now) => `has a new token, ${formatExpiry(token, now, 'which')}`,
  },
  revoke: {
    check: ({ spec }) =>
      spec.revocation === 'BoundSecret'
        ? undefined
        : 'does not have spec.revocation BoundSecret, so its token cannot be revoked. The token is valid until it expires; to make later tokens revocable, set spec.revocation to BoundSecret',
    patch: (value) => ({ metadata: { annotations: { [Annotation.revoke]: value } } }),
    isDone: (token, value) => token.status?.lastRevokeRequest === value && (token.spec.rotation.suspend || isReady(token)),
    describeResult: (token, now) =>
      `had its token revoked${token.spec.rotation.suspend ? '; no new token is issued while rotation is suspended' : `; ${formatExpiry(token, now, 'the new token')}`}`,
    describePart: (token, value) =>
      token.status?.lastRevokeRequest === value ? 'had its token revoked, but Purser has not issued a new token' : undefined,
  },
  suspend: {
    patch: () => ({ spec: { rotation: { suspend: true } } }),
    isDone: isObserved,
    describeResult: (token, now) => `is suspended; ${formatExpiry(token, now, 'its token')}`,
  },
  resume: {
    patch: () => ({ spec: { rotation: { suspend: false } } }),
    isDone: (token, value, requested) => isObserved(token, value, requested) && isReady(token),
    describeResult: (token, now) => `is no longer suspended; ${formatExpiry(token, now, 'its token')}`,
    describePart: (token, value, requested) =>
      !token.spec.rotation.suspend && isObserved(token, value, requested) ? 'is no longer suspended, but is not Ready' : undefined,
  },
};

function isObserved({ status }: ManagedToken, _: string, requested: ManagedToken): boolean {
  return (status?.observedGeneration ?? 0) >= (requested.metadata.generation ?? 0);
}

function isReady({ status }: ManagedToken): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === TokenConditionType.ready && value === 'True') === true;
}

/**
 * Returns a clause about the token's expiry. `subject` names the token. A suspended ManagedToken may have no token, or an expired token.
 */
function formatExpiry({ status }: ManagedToken, now: number, subject: string): string {
  const at = parseTimestamp(status?.expirationTimestamp);
  if (at === undefined) return 'it has no current token';
  return `${subject} ${at <= now ? 'has expired' : `expires in ${formatHumanDuration(at - now)}`}`;
}

/** Waits until `isDone` returns true or the timeout expires. Returns the ManagedToken as `latest` and, after success, as `changed`. */
async function waitUntil(
  { hub, namespace, name, timeoutMs }: TokenChange,
  host: CommandHost,
  isDone: (token: Stored<ManagedToken>) => boolean,
): Promise<{ readonly changed?: ManagedToken | undefined; readonly latest?: Stored<ManagedToken> | undefined }> {
  const { signal } = host;
  let latest: Stored<ManagedToken> | undefined;
  const changed = await poll(timeoutMs, host, async () => {
    const token = await hub.client.get(ManagedTokens, { namespace, name }, { signal });
    latest = token;
    return isDone(token) ? token : undefined;
  });
  return { changed, latest };
}

function describeCause({ status }: ManagedToken): string {
  const { rotationFailing, ready } = TokenConditionType;
  const failures = new Map<string, string>([
    [rotationFailing, 'True'],
    [ready, 'False'],
  ]);
  const failing = status?.conditions?.find((condition) => failures.get(condition.type) === condition.status);
  return failing === undefined ? `. ${CHECK_PURSER}` : `: ${failing.message}`;
}
