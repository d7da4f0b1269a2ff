// One caller who watches, on however many connections: what it may see, and who is told when that changes.

import type { User } from '../../access/user.ts';
import { Visibility } from '../../access/visibility.ts';
import type { Clock } from '../../std/clock.ts';
import type { ListReviews } from './list-reviews.ts';

export interface ViewerOptions {
  readonly user: User;
  readonly reviews: ListReviews;
  /** What RBAC shows now. */
  readonly byRules: () => Visibility;
  /** What it sees at first. */
  readonly visibility: Visibility;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called when the last follower has left. */
  readonly onUnused: () => void;
}

/** Told what is visible from now on. */
export type OnVisibility = (now: Visibility) => void;

/** A yes of another authoriser than RBAC that is taken back must be noticed soon; a no that turns into a yes can wait. */
const RECHECK_NO_MS = 30_000;
/** How long a yes is believed while the hub does not answer. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 1_000;

export class Viewer {
  readonly user: User;
  readonly #options: ViewerOptions;
  readonly #followers = new Set<OnVisibility>();
  #visibility: Visibility;
  #cancel: () => void = () => {};
  #confirmedAt: number;
  /** Of questions that overtake each other, the answer to the last one counts. */
  #questions = 0;
  #isOver = false;

  constructor(options: ViewerOptions) {
    this.#options = options;
    this.user = options.user;
    this.#visibility = options.visibility;
    this.#confirmedAt = options.clock.monotonic();
    this.#plan();
  }

  get visibility(): Visibility {
    return this.#visibility;
  }

  /** Calls back on every change until the returned function is called. */
  follow(onVisibility: OnVisibility): () => void {
    this.#followers.add(onVisibility);
    return () => {
      if (!this.#followers.delete(onVisibility) || this.#followers.size > 0) return;
      this.#isOver = true;
      this.#cancel();
      this.#options.onUnused();
    };
  }

  /** Looks again, after the rules have changed. */
  reconsider(): void {
    const byRules = this.#options.byRules();
    // Whoever sees everything may do so by another authoriser, too: then nothing is to be taken away and given back.
    if (byRules.isEverything || !this.#visibility.isEverything) this.#show(byRules);
    else void this.#ask();
  }

  async #ask(): Promise<void> {
    const { reviews, byRules, clock } = this.#options;
    this.#cancel();
    const question = ++this.#questions;
    try {
      const isAllowed = await reviews.ask(this.user);
      if (this.#questions !== question) return;
      this.#confirmedAt = clock.monotonic();
      this.#show(isAllowed ? Visibility.everything : byRules());
    } catch {
      if (this.#questions !== question) return;
      if (clock.monotonic() - this.#confirmedAt >= PATIENCE_MS) this.#show(byRules());
      this.#plan(RETRY_MS);
    }
  }

  #show(visibility: Visibility): void {
    const before = this.#visibility;
    this.#visibility = visibility;
    this.#plan();
    if (before === visibility) return;
    for (const onVisibility of this.#followers) onVisibility(visibility);
  }

  /** What RBAC shows changes with a word from its watch; what others show has to be asked for. */
  #plan(ms?: number): void {
    const { byRules, clock, random, reviews } = this.#options;
    this.#cancel();
    this.#cancel = () => {};
    if (this.#isOver || byRules().isEverything) return;
    const periodMs = this.#visibility.isEverything ? reviews.rememberedMs : RECHECK_NO_MS;
    this.#cancel = clock.wakeAfter(ms ?? periodMs * (1 - random() / 5), () => void this.#ask());
  }
}
