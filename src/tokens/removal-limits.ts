// Limits on the removal of Secrets, against a mistake in RBAC that would remove every token. The limits count only tokens that Purser
// issued, as its signed digest in the status or in memory proves, so that no tenant can reach a limit merely by creating objects. The
// global limit, once reached, pauses removal until an administrator releases it.

import { RemovalLimit } from '../api/names.ts';
import { AlertReason } from '../api/reasons.ts';
import { type ConfigMap, ConfigMaps } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import { objectKeyOf } from '../kube/paths.ts';
import { ignoreReasons } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { SingleFlight } from '../std/single-flight.ts';
import { formatTimestamp } from '../std/timestamp.ts';
import { rethrowAsIssueError } from '../targets/issue-error.ts';
import { LineLimit } from '../telemetry/line-limit.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { HubView } from './informers.ts';
import { anchorsOf } from './policy/anchors.ts';
import type { StoredToken } from './policy/spec.ts';
import { delayedUntil, isMassWithdrawal, type TokenCounts, WITHDRAWAL_WINDOW_MS } from './policy/withdrawal.ts';
import type { RecordKey } from './record-key.ts';
import type { TrackedToken, TrackedTokens } from './tracked-token.ts';

export interface RemovalLimitsOptions extends RemovalPauseOptions {
  readonly view: Pick<HubView, 'tokens'>;
  readonly memory: TrackedTokens;
  readonly recordKey: Pick<RecordKey, 'verify'>;
}

/** Decision on the removal of a Secret after refusals that are at least 15 s apart. */
export type SecretRemovalDecision =
  | { readonly type: 'allowed' }
  | { readonly type: 'delayed'; readonly until: number }
  | { readonly type: 'paused' };

export class RemovalLimits {
  readonly #options: RemovalLimitsOptions;
  readonly #pause: RemovalPause;
  readonly #lines: LineLimit;
  #removed: readonly Loss[] = [];
  readonly #counted = new Map<Limit, { readonly state: string; readonly at: number; readonly counts: TokenCounts }>();

  constructor(options: RemovalLimitsOptions) {
    this.#options = options;
    this.#pause = new RemovalPause(options);
    this.#lines = new LineLimit({
      clock: options.clock,
      onSuppressed: (namespace, suppressed) => options.log.warn({ namespace, suppressed }, 'log lines about held removals suppressed'),
    });
  }

  /** Reads whether an earlier leader paused removal. A failure is only logged, because the next removal reads the ConfigMap again. */
  load(): void {
    this.#pause.refresh().catch((error: unknown) => this.#options.log.warn({ error }, 'removal limit could not be read'));
  }

  /** Decides whether the Secret of a refused token may be removed. Throws an IssueError if a request for the limit's ConfigMap fails. */
  async check(token: StoredToken, { countedIn, refusedAt: [firstRefusedAt = 0] }: TrackedToken): Promise<SecretRemovalDecision> {
    // A token with revocation BoundSecret becomes invalid with its anchor; a delay would keep it valid.
    const isExempt = token.spec.revocation === 'BoundSecret' || anchorsOf(token).length > 0;
    if (countedIn === undefined || isExempt) return { type: 'allowed' };
    await this.#pause.refresh();
    if (!this.#pause.isHeld) await this.#holdIfMass();
    if (this.#pause.isHeld) return { type: 'paused' };
    const now = this.#options.clock.now();
    const until = delayedUntil(this.#countLost('namespace', -Infinity).get(countedIn) ?? 0, firstRefusedAt, now);
    return until === undefined || firstRefusedAt <= this.#pause.releasedAt ? { type: 'allowed' } : { type: 'delayed', until };
  }

  /** Logs that a removal is held: as a warning while `LineLimit` allows it, otherwise as a debug line. */
  logHeld(token: StoredToken, reason: 'MassWithdrawal' | 'RemovalDelayed'): void {
    const level = this.#lines.take(token.metadata.namespace) ? 'warn' : 'debug';
    this.#options.log[level]({ key: objectKeyOf(token), reason }, 'removal held');
  }

  /** Stops the timers. Call it at the end of a term. */
  close(): void {
    this.#lines.close();
  }

  /** Records a removal, which the limits count for a minute. */
  recordRemoval({ countedIn, isSelfCaused, refusedAt: [firstRefusedAt = 0] }: TrackedToken): void {
    if (countedIn === undefined) return;
    const removedAt = this.#options.clock.now();
    this.#removed = [...this.#findRecentRemovals(), { namespace: countedIn, firstRefusedAt, isSelfCaused, removedAt }];
  }

  async #holdIfMass(): Promise<void> {
    const lost = this.#countLost('global', this.#pause.releasedAt);
    if (isMassWithdrawal(lost, new Map()) && isMassWithdrawal(lost, this.#countIssued())) await this.#pause.hold(lost);
  }

  /** Returns the counts of `#recountLost`, cached for a second unless a token is refused or removed: every held token needs them. */
  #countLost(limit: Limit, after: number): TokenCounts {
    const state = `${after} ${this.#options.memory.refused.size} ${this.#removed.length}`;
    const now = this.#options.clock.monotonic();
    const known = this.#counted.get(limit);
    if (known?.state === state && now - known.at < COUNT_MS) return known.counts;
    const counts = this.#recountLost(limit, after);
    this.#counted.set(limit, { state, at: now, counts });
    return counts;
  }

  /**
   * Counts tokens that wait for removal or were removed within the last minute, and were first refused after the time `after`. The global
   * limit ignores tokens whose loss of permission the tenant caused: otherwise, a tenant could pause removal for all others.
   */
  #recountLost(limit: Limit, after: number): TokenCounts {
    const waiting = [...this.#options.memory.refused].flatMap(({ countedIn, isSelfCaused, refusedAt: [firstRefusedAt = 0] }) =>
      countedIn === undefined ? [] : [{ namespace: countedIn, firstRefusedAt, isSelfCaused }],
    );
    const isCounted = ({ firstRefusedAt, isSelfCaused }: Omit<Loss, 'removedAt'>) =>
      firstRefusedAt > after && (limit === 'namespace' || !isSelfCaused);
    return countBy([...waiting, ...this.#findRecentRemovals()].filter(isCounted).map(({ namespace }) => namespace));
  }

  #findRecentRemovals(): readonly Loss[] {
    const now = this.#options.clock.now();
    return this.#removed.filter(({ removedAt }) => Math.abs(now - removedAt) < WITHDRAWAL_WINDOW_MS);
  }

  #countIssued(): TokenCounts {
    const { view, recordKey } = this.#options;
    const issued = view.tokens.list().filter((token) => recordKey.verify(token) !== undefined);
    return countBy(issued.map(({ metadata }) => metadata.namespace));
  }
}

const COUNT_MS = 1_000;

type Limit = 'namespace' | 'global';

interface Loss {
  readonly namespace: string;
  readonly firstRefusedAt: number;
  /** True if the tenant caused the loss of permission. */
  readonly isSelfCaused: boolean;
  readonly removedAt: number;
}

function countBy(names: readonly string[]): TokenCounts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

interface RemovalPauseOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Pick<Metrics, 'setRemovalPaused'> | undefined;
  readonly hub: Pick<KubeClient, 'get' | 'create' | 'update'>;
  /** Namespace that Purser runs in. */
  readonly namespace: string;
}

/** Interval between reads of the ConfigMap while removal is paused, in milliseconds. */
const READ_MS = 10_000;
const MAX_NAMES = 20;

/** The pause after the global limit is reached. Its state is in a ConfigMap in Purser's namespace, so that it outlives the leader. */
class RemovalPause {
  readonly #options: RemovalPauseOptions;
  readonly #reading = new SingleFlight<void>();
  /** Data of the ConfigMap while removal is paused; undefined if removal is not paused. */
  #held: Readonly<Record<string, string>> | undefined;
  #readAt: number | undefined;
  #releasedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RemovalPauseOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Time of the last release; -Infinity before the first. Tokens that were first refused before it no longer count toward the global limit,
   * and their removal is not delayed.
   */
  get releasedAt(): number {
    return this.#releasedAt;
  }

  /**
   * Reads the ConfigMap: once, and at most every ten seconds while removal is paused. Ends the pause if an administrator has requested
   * that; restores a missing record of the pause. Throws an IssueError if a request fails.
   */
  async refresh(): Promise<void> {
    const { clock } = this.#options;
    const isRecent = this.#readAt !== undefined && (!this.isHeld || clock.monotonic() - this.#readAt < READ_MS);
    if (isRecent) return;
    await this.#reading.do('read', async () => {
      const stored = await this.#read();
      this.#readAt = clock.monotonic();
      const { since } = stored?.data ?? {};
      if (stored?.data !== undefined && since !== undefined) this.#setHeld(stored.data);
      if (stored !== undefined && this.isHeld && (await this.#releaseIfRequested(stored))) return;
      if (this.isHeld && since === undefined) await this.#write(stored);
    });
  }

  async #releaseIfRequested(stored: ConfigMap): Promise<boolean> {
    const requested = stored.metadata.annotations?.[RemovalLimit.release];
    if (!requested || requested === this.#held?.['released']) return false;
    await this.#release(stored, requested);
    return true;
  }

  /** Pauses removal, even if the ConfigMap cannot be written; the write is retried. */
  async hold(lost: TokenCounts): Promise<void> {
    const { clock, log, namespace } = this.#options;
    const tokens = [...lost.values()].reduce((sum, count) => sum + count, 0);
    const namespaces = [...lost.keys()].toSorted();
    const message =
      `Removal of Secrets is paused: ${tokens} tokens in ${lost.size} namespaces lost permission at about the same time. Check RBAC, then run: ` +
      `kubectl annotate -n ${namespace} configmap/${RemovalLimit.configMap} ${RemovalLimit.release}="$(date +%s)" --overwrite`;
    const listed = namespaces.slice(0, MAX_NAMES).join(' ');
    this.#setHeld({ since: formatTimestamp(clock.now()), tokens: String(tokens), namespaces: listed, message });
    log.error({ tokens, namespaces: namespaces.slice(0, MAX_NAMES), reason: 'MassWithdrawal' }, AlertReason.MassWithdrawal);
    try {
      const stored = await this.#read();
      // A release that was requested before the limit was reached releases nothing.
      const released = stored?.metadata.annotations?.[RemovalLimit.release];
      this.#setHeld({ ...this.#held, ...(released !== undefined && { released }) });
      await this.#write(stored);
      this.#readAt = clock.monotonic();
    } catch (error) {
      this.#readAt = undefined;
      log.error({ error }, 'removal limit could not be recorded');
    }
  }

  async #release(stored: ConfigMap, released: string): Promise<void> {
    const { clock, log, hub, metrics } = this.#options;
    const data = { released, releasedAt: formatTimestamp(clock.now()) };
    await rethrowAsIssueError(hub.update(ConfigMaps, { ...stored, data }), 'AuthorizationFailed', NEVER_ABORTED);
    this.#held = undefined;
    this.#releasedAt = clock.now();
    metrics?.setRemovalPaused(false);
    log.warn({ reason: 'MassWithdrawal' }, 'removal limit released');
  }

  #setHeld(data: Readonly<Record<string, string>>): void {
    this.#held = data;
    this.#options.metrics?.setRemovalPaused(true);
  }

  async #read(): Promise<ConfigMap | undefined> {
    const { hub, namespace } = this.#options;
    const found = ignoreReasons(hub.get(ConfigMaps, { namespace, name: RemovalLimit.configMap }), 'NotFound');
    return await rethrowAsIssueError(found, 'AuthorizationFailed', NEVER_ABORTED);
  }

  async #write(stored: ConfigMap | undefined): Promise<void> {
    const { hub, namespace } = this.#options;
    const data = { ...this.#held };
    const written =
      stored === undefined
        ? hub.create(ConfigMaps, { metadata: { namespace, name: RemovalLimit.configMap }, data })
        : hub.update(ConfigMaps, { ...stored, data });
    await rethrowAsIssueError(written, 'AuthorizationFailed', NEVER_ABORTED);
  }
}

/** Signal that never aborts, for requests that several reconciles share: none of them may abort such a request. */
const NEVER_ABORTED = new AbortController().signal;
