// Kubernetes Events about objects, for people who run `kubectl describe`. Best effort: recording never waits and never
// fails. Written as core/v1, whose count and last time `describe` and `get events` both show.

import { type ApiObject, Events } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { FairQueue } from '../std/fair-queue.ts';
import { Recent } from '../std/recent.ts';
import { rfc3339 } from '../std/timestamp.ts';
import { TokenBucket } from '../std/token-bucket.ts';
import type { KubeClient } from './client.ts';
import { eventOf, type Note, namespaceOf, type Series, type Speaker, subjectOf } from './event-series.ts';

export interface RecorderOptions extends Speaker {
  readonly client: Pick<KubeClient, 'create' | 'patch'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Told of events that could not be written. */
  readonly onProblem?: (error: unknown) => void;
}

/** More was said at once than could be written. */
class DroppedEventsError extends Error {
  override readonly name = 'DroppedEventsError';
}

/** client-go's measure: 25 events of an object at once, then one in five minutes. */
const RATE = { burst: 25, perSecond: 1 / 300 };
/** Events that wait to be written; one namespace has at most half of them. */
const MAX_DUE = 1_000;
const MAX_REMEMBERED = 4_096;
const TIMEOUT_MS = 5_000;

/**
 * Writes events one after the other, for all namespaces in turn. What was said before of the same object is counted instead of written anew; an object
 * that is spoken of too often is cut short.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  /** By what is said. */
  readonly #series = new Recent<Series>(MAX_REMEMBERED);
  /** Of each object that was spoken of. */
  readonly #budgets = new Recent<TokenBucket>(MAX_REMEMBERED);
  /** Series with something new to write, by namespace. */
  readonly #due = new FairQueue<Series>(MAX_DUE);
  #writing: Promise<void> | undefined;
  /** How many were not even taken since everything was last written. */
  #dropped = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Records a note about an object. Drops it if there were too many about the object, or if too many of its namespace wait. */
  record(object: ApiObject, note: Note): void {
    const subject = subjectOf(object);
    if (!this.#maySpeak(JSON.stringify(subject))) return;
    const now = this.#options.clock.now();
    const key = JSON.stringify([subject, note]);
    const series = this.#series.get(key) ?? { subject, note, firstAt: now, lastAt: now, count: 0, written: undefined };
    if (!this.#due.add(subject.namespace ?? '', series)) {
      this.#dropped += 1;
      return;
    }
    series.count += 1;
    series.lastAt = now;
    this.#series.set(key, series);
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything said so far was written or given up. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  #maySpeak(subject: string): boolean {
    const budget = this.#budgets.get(subject) ?? new TokenBucket(this.#options.clock, RATE);
    this.#budgets.set(subject, budget);
    return budget.take() === 0;
  }

  async #drain(): Promise<void> {
    // Lets the caller finish first, and what it repeats be counted in one write.
    await Promise.resolve();
    for (let series = this.#due.take(); series !== undefined; series = this.#due.take()) await this.#write(series);
    this.#writing = undefined;
    if (this.#dropped === 0) return;
    this.#options.onProblem?.(new DroppedEventsError(`${this.#dropped} events were dropped: too many waited to be written`));
    this.#dropped = 0;
  }

  async #write(series: Series): Promise<void> {
    try {
      series.written = series.written === undefined ? await this.#create(series) : await this.#count(series, series.written);
    } catch (error) {
      this.#options.onProblem?.(error);
    }
  }

  async #create(series: Series): Promise<string> {
    const { client, random } = this.#options;
    const event = eventOf(series, this.#options, random());
    await client.create(Events, event, { timeoutMs: TIMEOUT_MS });
    return event.metadata.name;
  }

  async #count(series: Series, name: string): Promise<string> {
    const patch = { count: series.count, lastTimestamp: rfc3339(series.lastAt) };
    try {
      await this.#options.client.patch(Events, { namespace: namespaceOf(series.subject), name }, patch, { timeoutMs: TIMEOUT_MS });
      return name;
    } catch (error) {
      // Events live for an hour.
      if (hasReason(error, 'NotFound')) return this.#create(series);
      throw error;
    }
  }
}
