// Whether the hub lets a caller list all clusters, whatever its authorisers are: one SubjectAccessReview, remembered briefly.

import { isAllowed } from '../../access/hub-review.ts';
import { type User, userKey } from '../../access/user.ts';
import { RegistryGroup } from '../../api/names.ts';
import { Clusters } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { Clock } from '../../std/clock.ts';
import { SingleFlight } from '../../std/single-flight.ts';
import type { Logger } from '../../telemetry/logger.ts';

export interface ListReviewsOptions {
  readonly hub: Pick<KubeClient, 'createReview'>;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Answer {
  readonly allowed: boolean;
  readonly askedAt: number;
}

const REMEMBERED_MS = 10_000;
/** The hub itself takes a moment to notice that its rules have changed. */
const UNSETTLED_MS = 2_000;
const UNSETTLED_REMEMBERED_MS = 250;
const MAX_ANSWERS = 10_000;
const ATTRIBUTES = { resourceAttributes: { group: RegistryGroup, resource: Clusters.plural, verb: 'list' } };

/** Failures are thrown, and not remembered. */
export class ListReviews {
  readonly #options: ListReviewsOptions;
  readonly #answers = new Map<string, Answer>();
  readonly #asking = new SingleFlight<boolean>();
  #unsettledAt = Number.NEGATIVE_INFINITY;

  constructor(options: ListReviewsOptions) {
    this.#options = options;
  }

  /** Whether the hub said yes a moment ago, or says so now. */
  async allows(user: User): Promise<boolean> {
    return this.remembered(user) ?? (await this.ask(user));
  }

  /** The last answer, while it may be relied upon. */
  remembered(user: User): boolean | undefined {
    const answer = this.#answers.get(userKey(user));
    return answer === undefined || this.#options.clock.monotonic() - answer.askedAt >= this.#goodMs(answer) ? undefined : answer.allowed;
  }

  /** How long an answer that came just now may be relied upon. */
  get rememberedMs(): number {
    const now = this.#options.clock.monotonic();
    return this.#goodMs({ allowed: true, askedAt: now });
  }

  /** Asks now; whoever asks the same meanwhile shares the answer. */
  ask(user: User): Promise<boolean> {
    const key = userKey(user);
    return this.#asking.do(key, () => this.#ask(key, user));
  }

  /** The rules have changed: a yes that is older than the change counts no more, and newer ones for a moment only. */
  unsettle(): void {
    this.#unsettledAt = this.#options.clock.monotonic();
    this.#asking.clear();
  }

  async #ask(key: string, user: User): Promise<boolean> {
    const { hub, clock, log } = this.#options;
    const askedAt = clock.monotonic();
    const allowed = await isAllowed(hub, user, ATTRIBUTES, log);
    const isOvertaken = (this.#answers.get(key)?.askedAt ?? askedAt) > askedAt;
    if (this.#answers.size >= MAX_ANSWERS) this.#answers.clear();
    if (!isOvertaken) this.#answers.set(key, { allowed, askedAt });
    return allowed;
  }

  /** A no does no harm: what RBAC grants since then is known from its watch. */
  #goodMs({ allowed, askedAt }: Answer): number {
    if (!allowed) return REMEMBERED_MS;
    if (askedAt < this.#unsettledAt) return 0;
    return askedAt < this.#unsettledAt + UNSETTLED_MS ? UNSETTLED_REMEMBERED_MS : REMEMBERED_MS;
  }
}
