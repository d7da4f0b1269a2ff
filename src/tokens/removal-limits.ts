// Limits on the removal of Secrets, against a mistake in RBAC that would remove every token. They count only tokens that Purser
// issued, so that no tenant can reach them with objects alone.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { objectKey } from '../kube/paths.ts';
import { LineLimit } from '../telemetry/line-limit.ts';
import type { HubView } from './hub-view.ts';
import type { TokenMemory } from './memory.ts';
import { anchorsOf } from './policy/anchors.ts';
import { delayedUntil, isMassWithdrawal, type TokenCounts, WINDOW_MS } from './policy/withdrawal.ts';
import type { Recollection } from './recollection.ts';
import { RemovalPause, type RemovalPauseOptions } from './removal-pause.ts';

export interface RemovalLimitsOptions extends RemovalPauseOptions {
  readonly view: Pick<HubView, 'tokens'>;
  readonly memory: TokenMemory;
}

/** Whether a Secret may be removed now, after two refusals. */
export type Removal = { readonly type: 'allowed' } | { readonly type: 'delayed'; readonly until: number } | { readonly type: 'paused' };

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
      onSuppressed: (namespace, suppressed) => options.log.warn({ namespace, suppressed }, 'further held removals suppressed'),
    });
  }

  /** Reads whether an earlier leader paused removal; logs a failure, since the next removal reads again. */
  load(): void {
    this.#pause.refresh().catch((error: unknown) => this.#options.log.warn({ error }, 'removal limit could not be read'));
  }

  /** Decides on a refused token. Throws an IssueError if the state of the global limit cannot be read. */
  async check(token: ManagedToken, { countedIn, refusedAt: [firstRefusedAt = 0] }: Recollection): Promise<Removal> {
    // A token of BoundSecret ends with its anchor; waiting would keep it valid.
    const isHeldNever = token.spec.revocation === 'BoundSecret' || anchorsOf(token).length > 0;
    if (countedIn === undefined || isHeldNever) return { type: 'allowed' };
    await this.#pause.refresh();
    if (!this.#pause.isHeld) await this.#holdIfMass();
    if (this.#pause.isHeld) return { type: 'paused' };
    const now = this.#options.clock.now();
    const until = delayedUntil(this.#lost('namespace', -Infinity).get(countedIn) ?? 0, firstRefusedAt, now);
    return until === undefined || firstRefusedAt <= this.#pause.releasedAt ? { type: 'allowed' } : { type: 'delayed', until };
  }

  /** Logs that a removal is held; a namespace gets few such lines a minute. */
  logHeld(token: ManagedToken, reason: 'MassWithdrawal' | 'RemovalDelayed'): void {
    const level = this.#lines.take(token.metadata.namespace ?? '') ? 'warn' : 'debug';
    this.#options.log[level]({ key: objectKey(token), reason }, 'removal held');
  }

  /** To be called at the end of a term. */
  close(): void {
    this.#lines.close();
  }

  /** Counts a removal. */
  removed({ countedIn, isOwnDoing, refusedAt: [firstRefusedAt = 0] }: Recollection): void {
    if (countedIn === undefined) return;
    const removedAt = this.#options.clock.now();
    this.#removed = [...this.#recentlyRemoved(), { namespace: countedIn, firstRefusedAt, isOwnDoing, removedAt }];
  }

  async #holdIfMass(): Promise<void> {
    const lost = this.#lost('global', this.#pause.releasedAt);
    if (isMassWithdrawal(lost, new Map()) && isMassWithdrawal(lost, this.#issued())) await this.#pause.hold(lost);
  }

  /** Returns the counts of `#countLost`, counted once a second while none is refused or removed: every held token asks for them. */
  #lost(limit: Limit, after: number): TokenCounts {
    const state = `${after} ${this.#options.memory.refused.size} ${this.#removed.length}`;
    const now = this.#options.clock.monotonic();
    const known = this.#counted.get(limit);
    if (known?.state === state && now - known.at < COUNT_MS) return known.counts;
    const counts = this.#countLost(limit, after);
    this.#counted.set(limit, { state, at: now, counts });
    return counts;
  }

  /**
   * Counts tokens that wait for removal or were removed within a minute, and were first refused after an instant. The global limit
   * ignores those that tenants caused themselves: they could pause removal for everybody at will.
   */
  #countLost(limit: Limit, after: number): TokenCounts {
    const waiting = [...this.#options.memory.refused].flatMap(({ countedIn, isOwnDoing, refusedAt: [firstRefusedAt = 0] }) =>
      countedIn === undefined ? [] : [{ namespace: countedIn, firstRefusedAt, isOwnDoing }],
    );
    const isCounted = ({ firstRefusedAt, isOwnDoing }: Omit<Loss, 'removedAt'>) =>
      firstRefusedAt > after && (limit === 'namespace' || !isOwnDoing);
    return countBy([...waiting, ...this.#recentlyRemoved()].filter(isCounted).map(({ namespace }) => namespace));
  }

  #recentlyRemoved(): readonly Loss[] {
    const now = this.#options.clock.now();
    return this.#removed.filter(({ removedAt }) => Math.abs(now - removedAt) < WINDOW_MS);
  }

  #issued(): TokenCounts {
    const issued = this.#options.view.tokens.list().filter(({ status }) => status?.tokenDigest !== undefined);
    return countBy(issued.map(({ metadata }) => metadata.namespace ?? ''));
  }
}

const COUNT_MS = 1_000;

type Limit = 'namespace' | 'global';

interface Loss {
  readonly namespace: string;
  readonly firstRefusedAt: number;
  /** Whether the tenant caused it. */
  readonly isOwnDoing: boolean;
  readonly removedAt: number;
}

function countBy(names: readonly string[]): TokenCounts {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
