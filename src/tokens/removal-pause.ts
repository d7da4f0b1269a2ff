// The global removal limit once it is reached: removal stays paused until an administrator releases it. The state is in a
// ConfigMap in Purser's namespace, so that it outlives the leader.

import { RemovalLimit } from '../api/names.ts';
import { AlertReason } from '../api/reasons.ts';
import { type ConfigMap, ConfigMaps } from '../api/resources.ts';
import type { KubeClient } from '../kube/client.ts';
import type { Clock } from '../std/clock.ts';
import { instantText } from '../std/instant.ts';
import { SingleFlight } from '../std/single-flight.ts';
import { orIssueError } from '../targets/issue-error.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { unless } from './hub-answer.ts';
import type { TokenCounts } from './policy/withdrawal.ts';

export interface RemovalPauseOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics?: Pick<Metrics, 'removalPaused'> | undefined;
  readonly hub: Pick<KubeClient, 'get' | 'create' | 'update'>;
  /** Purser's own namespace. */
  readonly namespace: string;
}

/** Interval at which a paused controller reads the ConfigMap. */
const READ_MS = 10_000;
const MAX_NAMES = 20;

export class RemovalPause {
  readonly #options: RemovalPauseOptions;
  readonly #reading = new SingleFlight<void>();
  /** Data of the ConfigMap while removal is paused. */
  #held: Readonly<Record<string, string>> | undefined;
  #readAt: number | undefined;
  #releasedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RemovalPauseOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#held !== undefined;
  }

  /** Time of the last release; tokens that were refused before it are not held again. */
  get releasedAt(): number {
    return this.#releasedAt;
  }

  /** Reads the ConfigMap: once, and every ten seconds while removal is paused. Throws an IssueError if that fails. */
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

  /** Pauses removal. A ConfigMap that cannot be written is tried again; removal is paused all the same. */
  async hold(lost: TokenCounts): Promise<void> {
    const { clock, log, namespace } = this.#options;
    const tokens = [...lost.values()].reduce((sum, count) => sum + count, 0);
    const namespaces = [...lost.keys()].toSorted();
    const message =
      `Removal of Secrets is paused: ${tokens} tokens in ${lost.size} namespaces lost permission within a minute. Check RBAC, then run: ` +
      `kubectl annotate -n ${namespace} configmap/${RemovalLimit.configMap} ${RemovalLimit.release}=<new value> --overwrite`;
    const listed = namespaces.slice(0, MAX_NAMES).join(' ');
    this.#setHeld({ since: instantText(clock.now()), tokens: String(tokens), namespaces: listed, message });
    log.error({ tokens, namespaces: namespaces.slice(0, MAX_NAMES), reason: 'MassWithdrawal' }, AlertReason.MassWithdrawal);
    try {
      const stored = await this.#read();
      // A value from before the limit was reached releases nothing.
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
    const data = { released, releasedAt: instantText(clock.now()) };
    await orIssueError(hub.update(ConfigMaps, { ...stored, data }), 'AuthorizationFailed', NEVER);
    this.#held = undefined;
    this.#releasedAt = clock.now();
    metrics?.removalPaused(false);
    log.warn({ reason: 'MassWithdrawal' }, 'removal limit released');
  }

  #setHeld(data: Readonly<Record<string, string>>): void {
    this.#held = data;
    this.#options.metrics?.removalPaused(true);
  }

  async #read(): Promise<ConfigMap | undefined> {
    const { hub, namespace } = this.#options;
    const found = unless(hub.get(ConfigMaps, { namespace, name: RemovalLimit.configMap }), 'NotFound');
    return await orIssueError(found, 'AuthorizationFailed', NEVER);
  }

  async #write(stored: ConfigMap | undefined): Promise<void> {
    const { hub, namespace } = this.#options;
    const data = { ...this.#held };
    const written =
      stored === undefined
        ? hub.create(ConfigMaps, { metadata: { namespace, name: RemovalLimit.configMap }, data })
        : hub.update(ConfigMaps, { ...stored, data });
    await orIssueError(written, 'AuthorizationFailed', NEVER);
  }
}

/** Several reconciles share each request, so none of them may abort it. */
const NEVER = new AbortController().signal;
