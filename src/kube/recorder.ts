// Kubernetes Events about objects, for people who run `kubectl describe`. Best effort: recording never waits and never
// fails. Written as core/v1, whose count and last time `describe` and `get events` both show.

import { type ApiObject, type Event, Events } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { defined } from '../std/defined.ts';
import { Recent } from '../std/recent.ts';
import { rfc3339 } from '../std/timestamp.ts';
import { TokenBucket } from '../std/token-bucket.ts';
import type { KubeClient } from './client.ts';
import { nameOf } from './paths.ts';

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
const MAX_DUE = 1_000;
const MAX_REMEMBERED = 4_096;
const TIMEOUT_MS = 5_000;

/**
 * Writes events one after the other. What was said before of the same object is counted instead of written anew; an object
 * that is spoken of too often is cut short.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  /** By what is said. */
  readonly #series = new Recent<Series>(MAX_REMEMBERED);
  /** Of each object that was spoken of. */
  readonly #budgets = new Recent<TokenBucket>(MAX_REMEMBERED);
  /** Series with something new to write, in order. */
  readonly #due = new Set<Series>();
  #writing: Promise<void> | undefined;
  /** How many were not even taken since everything was last written. */
  #dropped = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Says something about an object. Drops it when the object has been spoken of too often or too much is waiting. */
  record(object: ApiObject, note: Note): void {
    const subject = subjectOf(object);
    if (this.#due.size >= MAX_DUE) {
      this.#dropped += 1;
      return;
    }
    if (!this.#maySpeak(JSON.stringify(subject))) return;
    const now = this.#options.clock.now();
    const key = JSON.stringify([subject, note]);
    const series = this.#series.get(key) ?? { subject, note, firstAt: now, lastAt: now, count: 0, written: undefined };
    series.count += 1;
    series.lastAt = now;
    this.#series.set(key, series);
    this.#due.add(series);
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
    for (const series of this.#due) {
      this.#due.delete(series);
      await this.#write(series);
    }
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

export interface Note {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, from our closed set of reasons. */
  readonly reason: string;
  readonly message: string;
}

export interface Series {
  readonly subject: Subject;
  readonly note: Note;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The name of its Event, once there is one. */
  written: string | undefined;
}

/** What an Event is about. */
export type Subject = NonNullable<Event['involvedObject']> & { readonly name: string };

/** Who speaks. */
export interface Speaker {
  /** Shown as From. */
  readonly component: string;
  readonly instance: string;
}

const MAX_MESSAGE_CHARS = 1_024;
const MAX_NAME_CHARS = 253;

/** With the uid: `kubectl describe` shows only events of this very object, not of a namesake before it. */
export function subjectOf(object: ApiObject): Subject {
  const { name, namespace } = nameOf(object);
  const { apiVersion, kind, metadata } = object;
  return defined<Subject>({ apiVersion, kind, name, namespace, uid: metadata.uid });
}

/** Events of cluster-scoped objects live in `default`. */
export function namespaceOf(subject: Subject): string {
  return subject.namespace ?? 'default';
}

/** The Event of a series, as it is first written; `random` makes its name its own. */
export function eventOf(series: Series, { component, instance }: Speaker, random: number): Event & { metadata: { name: string } } {
  const { subject, note, firstAt, lastAt, count } = series;
  return {
    metadata: { name: eventName(subject.name, lastAt, random), namespace: namespaceOf(subject) },
    involvedObject: subject,
    type: note.type,
    reason: note.reason,
    message: note.message.slice(0, MAX_MESSAGE_CHARS),
    firstTimestamp: rfc3339(firstAt),
    lastTimestamp: rfc3339(lastAt),
    count,
    source: { component },
    reportingComponent: component,
    reportingInstance: instance,
  };
}

function eventName(name: string, at: number, random: number): string {
  const suffix = (BigInt(at) * 1_000_000n + BigInt(Math.floor(random * 1_000_000))).toString(16);
  const cut = name.slice(0, MAX_NAME_CHARS - suffix.length - 1);
  // A name may be cut behind a dash or a dot, where none may end.
  return `${cut.replace(/[-.]+$/, '')}.${suffix}`;
}
