// Recorder of Kubernetes Events. Best effort: recording never waits and never fails. Uses core/v1 Events, whose count and last time both
// `kubectl describe` and `kubectl get events` show.

import { type ApiObject, type Event, Events } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import { BoundedCache } from '../std/bounded-cache.ts';
import type { Clock } from '../std/clock.ts';
import { FairQueue } from '../std/fair-queue.ts';
import { omitUndefined } from '../std/omit-undefined.ts';
import { formatTimestamp } from '../std/timestamp.ts';
import { TokenBucket } from '../std/token-bucket.ts';
import type { KubeClient } from './client.ts';
import { nameOf } from './paths.ts';

export interface RecorderOptions extends EventReporter {
  readonly client: Pick<KubeClient, 'create' | 'patch'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called with the error if events could not be written, or were dropped because too many were pending. */
  readonly onProblem?: (error: unknown) => void;
}

/** Error for events that were dropped because too many were pending. */
class DroppedEventsError extends Error {
  override readonly name = 'DroppedEventsError';
}

/** Rate limit of each object, as in client-go: a burst of 25 events, then one every five minutes. */
const RATE = { burst: 25, perSecond: 1 / 300 };
/** Maximum number of pending series; one namespace can have at most half of them. */
const MAX_PENDING_SERIES = 1_000;
/** Maximum number of series, and of rate limits, that are kept. */
const MAX_SERIES = 4_096;
const TIMEOUT_MS = 5_000;

/**
 * Writes events one after another, for all namespaces in turn. Increments the count of a repeated event; limits the events of each object.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  /** Series by object, type, reason and message. */
  readonly #series = new BoundedCache<Series>(MAX_SERIES);
  /** Rate limit of each object. */
  readonly #budgets = new BoundedCache<TokenBucket>(MAX_SERIES);
  /** Series with pending writes, by namespace. */
  readonly #pending = new FairQueue<Series>(MAX_PENDING_SERIES);
  #writing: Promise<void> | undefined;
  /** Number of events that the queue rejected since it was last empty. */
  #dropped = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Records an event. Drops the event above the rate limit of the object, or if too many events are pending. */
  record(object: ApiObject, content: EventContent): void {
    const subject = toSubject(object);
    if (!this.#isWithinLimit(JSON.stringify(subject))) return;
    const now = this.#options.clock.now();
    const key = JSON.stringify([subject, content]);
    const series = this.#series.get(key) ?? { subject, content, firstAt: now, lastAt: now, count: 0, eventName: undefined };
    if (!this.#pending.add(subject.namespace ?? '', series)) {
      this.#dropped += 1;
      return;
    }
    series.count += 1;
    series.lastAt = now;
    this.#series.set(key, series);
    this.#writing ??= this.#drain();
  }

  /** Resolves when all events so far are written or have failed. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  #isWithinLimit(subject: string): boolean {
    const budget = this.#budgets.get(subject) ?? new TokenBucket(this.#options.clock, RATE);
    this.#budgets.set(subject, budget);
    return budget.take() === 0;
  }

  async #drain(): Promise<void> {
    // Lets the caller finish first, so that repetitions share one write.
    await Promise.resolve();
    for (let series = this.#pending.take(); series !== undefined; series = this.#pending.take()) await this.#write(series);
    this.#writing = undefined;
    if (this.#dropped === 0) return;
    this.#options.onProblem?.(new DroppedEventsError(`dropped events: ${this.#dropped}; too many were pending`));
    this.#dropped = 0;
  }

  async #write(series: Series): Promise<void> {
    try {
      series.eventName = series.eventName === undefined ? await this.#create(series) : await this.#incrementCount(series, series.eventName);
    } catch (error) {
      this.#options.onProblem?.(error);
    }
  }

  async #create(series: Series): Promise<string> {
    const { client, random } = this.#options;
    const event = toEvent(series, this.#options, random());
    await client.create(Events, event, { timeoutMs: TIMEOUT_MS });
    return event.metadata.name;
  }

  async #incrementCount(series: Series, name: string): Promise<string> {
    const patch = { count: series.count, lastTimestamp: formatTimestamp(series.lastAt) };
    try {
      await this.#options.client.patch(Events, { namespace: eventNamespaceOf(series.subject), name }, patch, { timeoutMs: TIMEOUT_MS });
      return name;
    } catch (error) {
      // The Event has expired.
      if (hasReason(error, 'NotFound')) return this.#create(series);
      throw error;
    }
  }
}

/** Type, reason and message of an Event. */
export interface EventContent {
  readonly type: 'Normal' | 'Warning';
  /** Reason in CamelCase, from the closed set of api/reasons.ts. */
  readonly reason: string;
  readonly message: string;
}

/** Repetitions of one event. */
export interface Series {
  readonly subject: InvolvedObject;
  readonly content: EventContent;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** Name of the Event; undefined before it is written. */
  eventName: string | undefined;
}

/** Object that an Event is about. */
export type InvolvedObject = NonNullable<Event['involvedObject']> & { readonly name: string };

/** Component and instance that report events. */
export interface EventReporter {
  /** Component, which kubectl shows as From. */
  readonly component: string;
  readonly instance: string;
}

const MAX_MESSAGE_CHARS = 1_024;
const MAX_NAME_CHARS = 253;

/** Returns the reference to an object. It has the uid, so that `kubectl describe` hides events of an earlier object of the same name. */
function toSubject(object: ApiObject): InvolvedObject {
  const { name, namespace } = nameOf(object);
  const { apiVersion, kind, metadata } = object;
  return omitUndefined<InvolvedObject>({ apiVersion, kind, name, namespace, uid: metadata.uid });
}

/** Returns the namespace of an Event; `default` for cluster-scoped objects. */
function eventNamespaceOf(subject: InvolvedObject): string {
  return subject.namespace ?? 'default';
}

/** Returns a new Event for a series; `random` makes its name unique. */
function toEvent(series: Series, { component, instance }: EventReporter, random: number): Event & { metadata: { name: string } } {
  const { subject, content, firstAt, lastAt, count } = series;
  return {
    metadata: { name: createEventName(subject.name, lastAt, random), namespace: eventNamespaceOf(subject) },
    involvedObject: subject,
    type: content.type,
    reason: content.reason,
    message: content.message.slice(0, MAX_MESSAGE_CHARS),
    firstTimestamp: formatTimestamp(firstAt),
    lastTimestamp: formatTimestamp(lastAt),
    count,
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}

function createEventName(name: string, at: number, random: number): string {
  const suffix = (BigInt(at) * 1_000_000n + BigInt(Math.floor(random * 1_000_000))).toString(16);
  const cut = name.slice(0, MAX_NAME_CHARS - suffix.length - 1);
  // A truncated name must not end with a dash or a dot.
  return `${cut.replace(/[-.]+$/, '')}.${suffix}`;
}
