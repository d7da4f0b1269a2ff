// Kubernetes Events about objects, for people who run `kubectl describe`. Best effort: recording never waits and never
// fails. Written as core/v1, whose count and last time `describe` and `get events` both show.

import type { ApiObject, Event } from '../api/resources.ts';
import { Events } from '../api/resources.ts';
import { hasReason } from '../api/status.ts';
import type { Clock } from '../std/clock.ts';
import { rfc3339 } from '../std/timestamp.ts';
import type { KubeClient } from './client.ts';
import { nameOf } from './paths.ts';

export interface Note {
  readonly type: 'Normal' | 'Warning';
  /** CamelCase, from our closed set of reasons. */
  readonly reason: string;
  readonly message: string;
}

export interface RecorderOptions {
  readonly client: Pick<KubeClient, 'create' | 'patch'>;
  readonly clock: Clock;
  readonly random: () => number;
  /** Who speaks: shown as From. */
  readonly component: string;
  readonly instance: string;
  /** Told of events that could not be written. */
  readonly onProblem?: (error: unknown) => void;
}

/** More was said at once than could be written. */
class DroppedEventsError extends Error {
  override readonly name = 'DroppedEventsError';
}

/**
 * Writes events one after the other. What was said before of the same object is counted instead of written anew; an object
 * that is spoken of too often is cut short.
 */
export class Recorder {
  readonly #options: RecorderOptions;
  /** By what is said, oldest first. */
  readonly #series = new Map<string, Series>();
  /** Of each object that was spoken of, oldest first. */
  readonly #budgets = new Map<string, Budget>();
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
    const subject = reference(object);
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
    remember(this.#series, key, series);
    this.#due.add(series);
    this.#writing ??= this.#drain();
  }

  /** Resolves when everything said so far was written or given up. */
  async flush(): Promise<void> {
    await this.#writing;
  }

  #maySpeak(subject: string): boolean {
    const now = this.#options.clock.monotonic();
    const { tokens, at } = this.#budgets.get(subject) ?? { tokens: BURST, at: now };
    const available = Math.min(BURST, tokens + (now - at) / REFILL_MS);
    remember(this.#budgets, subject, { tokens: available >= 1 ? available - 1 : available, at: now });
    return available >= 1;
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
    const { client, component, instance, random } = this.#options;
    const { subject, note, firstAt, lastAt, count } = series;
    const name = eventName(subject.name, lastAt, random());
    const event: Event = {
      metadata: { name, namespace: namespaceOf(subject) },
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
    await client.create(Events, event, { timeoutMs: TIMEOUT_MS });
    return name;
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

type Subject = NonNullable<Event['involvedObject']> & { readonly name: string };

/** One thing said of one object, however often. */
interface Series {
  readonly subject: Subject;
  readonly note: Note;
  readonly firstAt: number;
  lastAt: number;
  count: number;
  /** The name of its Event, once there is one. */
  written: string | undefined;
}

interface Budget {
  readonly tokens: number;
  /** When they were counted, on the monotonic clock. */
  readonly at: number;
}

/** client-go's measure: 25 events of an object at once, then one in five minutes. */
const BURST = 25;
const REFILL_MS = 300_000;
const MAX_DUE = 1_000;
const MAX_REMEMBERED = 4_096;
const MAX_MESSAGE_CHARS = 1_024;
const MAX_NAME_CHARS = 253;
const TIMEOUT_MS = 5_000;

function remember<V>(known: Map<string, V>, key: string, value: V): void {
  known.delete(key);
  known.set(key, value);
  if (known.size <= MAX_REMEMBERED) return;
  const [oldest = ''] = known.keys();
  known.delete(oldest);
}

/** With the uid: `kubectl describe` shows only events of this very object, not of a namesake before it. */
function reference(object: ApiObject): Subject {
  const { name, namespace } = nameOf(object);
  const { apiVersion, kind, metadata } = object;
  return {
    ...(apiVersion && { apiVersion }),
    ...(kind && { kind }),
    name,
    ...(namespace && { namespace }),
    ...(metadata.uid && { uid: metadata.uid }),
  };
}

/** Events of cluster-scoped objects live in `default`. */
function namespaceOf(subject: Subject): string {
  return subject.namespace ?? 'default';
}

function eventName(name: string, at: number, random: number): string {
  const suffix = (BigInt(at) * 1_000_000n + BigInt(Math.floor(random * 1_000_000))).toString(16);
  const cut = name.slice(0, MAX_NAME_CHARS - suffix.length - 1);
  // A name may be cut behind a dash or a dot, where none may end.
  return `${cut.replace(/[-.]+$/, '')}.${suffix}`;
}
