// Keeps the objects of one list current: lists in pages, then watches from the version of the list. Resumes the watch after a disconnect,
// and lists again after status 403 or 410.

import { computeRetryDelay, createProblem, INVALID_RESPONSE, NO_RESPONSE, type Problem, RequestError, type Server } from './problems.ts';
import { Lines, parseEvent, versionOf, type WatchEvent } from './watch-stream.ts';

/** Progress of a collection. */
export type Phase =
  /**
   * `loaded` is the number of objects read so far; `remaining` is undefined if the server does not report the number of remaining objects.
   */
  | { readonly type: 'loading'; readonly loaded: number; readonly remaining: number | undefined }
  | { readonly type: 'live' }
  /** Waiting for the next attempt; `retryAt` is in milliseconds since the epoch. */
  | { readonly type: 'retrying'; readonly problem: Problem; readonly retryAt: number }
  /** The server rejected the caller's credential (401), and `run` has ended. */
  | { readonly type: 'rejected'; readonly problem: Problem };

export interface CollectionOptions<T extends { readonly key: string }> {
  /** Server of the list, for messages. */
  readonly server: Server;
  /** Sends a GET request with a query. Rejects if there is no response. */
  readonly request: (query: string, signal: AbortSignal) => Promise<Response>;
  /** Returns the object to keep; undefined to ignore it. */
  readonly parse: (object: unknown) => T | undefined;
  /** Called after changes to items or phase; several changes can share one call. */
  readonly onChange: () => void;
  readonly now: () => number;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** Resolves after a time in milliseconds, or when the signal is aborted. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Number of objects in one page of a list. */
const PAGE = 500;
/** Number of events after which a watch yields to other work of the page. */
const MAX_EVENTS = 50;
const GONE = 410;

export class Collection<T extends { readonly key: string }> {
  readonly #options: CollectionOptions<T>;
  readonly #items = new Map<string, T>();
  #phase: Phase = { type: 'loading', loaded: 0, remaining: undefined };
  /** Version of the last list or event; undefined if a new list is needed. */
  #version: string | undefined;
  #failures = 0;
  #revision = 0;

  constructor(options: CollectionOptions<T>) {
    this.#options = options;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Number that grows with each change to an object. */
  get revision(): number {
    return this.#revision;
  }

  /** Keeps the objects current until the signal is aborted or the credential is rejected. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#version ??= await this.#list(signal);
        await this.#watch(this.#version, signal);
      } catch (error) {
        if (signal.aborted) return;
        const problem = toProblem(error);
        if (problem.status === 401) return this.#reject(problem);
        // A watch cannot resume from an expired version (410) or after a lack of permission (403); both require a new list.
        if (problem.status === GONE || problem.status === 403) this.#version = undefined;
        if (problem.status === 403) this.#clear();
        if (problem.status !== GONE || this.#failures > 0) await this.#wait(problem, signal);
        this.#failures += 1;
      }
    }
  }

  /** Reads all pages; returns the version of the list. Objects that are no longer listed are removed after the last page. */
  async #list(signal: AbortSignal): Promise<string> {
    const listed = new Set<string>();
    const isFirst = this.#items.size === 0;
    let page = await this.#readPage('', signal);
    for (;;) {
      for (const object of page.items) this.#put(object, listed);
      if (page.next === '') break;
      this.#setPhase(isFirst ? { type: 'loading', loaded: listed.size, remaining: page.remaining } : this.#phase);
      page = await this.#readPage(page.next, signal);
    }
    for (const key of this.#items.keys()) if (!listed.has(key)) this.#remove(key);
    return page.version;
  }

  async #readPage(next: string, signal: AbortSignal) {
    const response = await this.#send(`limit=${PAGE}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`, signal);
    const list: unknown = await response.json().catch(() => undefined);
    const { metadata, items } = (list ?? {}) as {
      readonly metadata?: { readonly continue?: unknown; readonly remainingItemCount?: unknown };
      readonly items?: unknown;
    };
    const version = versionOf(list);
    if (!Array.isArray(items) || version === undefined) throw new RequestError(INVALID_RESPONSE);
    return {
      items: items as readonly unknown[],
      version,
      next: typeof metadata?.continue === 'string' ? metadata.continue : '',
      remaining: typeof metadata?.remainingItemCount === 'number' ? metadata.remainingItemCount : undefined,
    };
  }

  /** Applies events until the response ends. Throws a RequestError with 410 if the version is too old. */
  async #watch(from: string, signal: AbortSignal): Promise<void> {
    const response = await this.#send(`watch=true&allowWatchBookmarks=true&resourceVersion=${encodeURIComponent(from)}`, signal);
    this.#setPhase({ type: 'live' });
    const lines = new Lines();
    const decoder = new TextDecoder();
    let applied = 0;
    for await (const chunk of readChunks(response)) {
      for (const line of lines.add(decoder.decode(chunk, { stream: true }))) {
        applied += 1;
        const event = parseEvent(line);
        this.#apply(event);
        this.#version = versionOf(event.object) ?? this.#version;
      }
      this.#failures = 0;
      this.#options.onChange();
      // Yields to other work: otherwise, all chunks that have already arrived would be processed in one long task.
      if (applied >= MAX_EVENTS) {
        applied = 0;
        await this.#options.sleep(0, signal);
      }
    }
    // A proxy may end every watch immediately: a pause before the next request limits the rate of requests.
    if (this.#version === from) await this.#options.sleep(computeRetryDelay(0, NO_RESPONSE, this.#options.random()), signal);
  }

  #apply({ type, object }: WatchEvent): void {
    if (type === 'ERROR') throw new RequestError(createProblem(codeOf(object), '', null, this.#options.server));
    if (type === 'ADDED' || type === 'MODIFIED') this.#put(object);
    if (type !== 'DELETED') return;
    const parsed = this.#options.parse(object);
    if (parsed !== undefined) this.#remove(parsed.key);
  }

  async #send(query: string, signal: AbortSignal): Promise<Response> {
    const response = await this.#options.request(query, signal).catch((error: unknown) => {
      throw signal.aborted ? error : new RequestError(NO_RESPONSE);
    });
    if (response.ok) return response;
    const status: unknown = await response.json().catch(() => undefined);
    const { message } = (status ?? {}) as { readonly message?: unknown };
    const text = typeof message === 'string' ? message : '';
    throw new RequestError(createProblem(response.status, text, response.headers.get('retry-after'), this.#options.server));
  }

  #put(object: unknown, listed?: Set<string>): void {
    const parsed = this.#options.parse(object);
    if (parsed === undefined) return;
    listed?.add(parsed.key);
    this.#items.set(parsed.key, parsed);
    this.#revision += 1;
  }

  #remove(key: string): void {
    if (this.#items.delete(key)) this.#revision += 1;
  }

  #clear(): void {
    this.#items.clear();
    this.#revision += 1;
  }

  #reject(problem: Problem): void {
    this.#clear();
    this.#setPhase({ type: 'rejected', problem });
  }

  async #wait(problem: Problem, signal: AbortSignal): Promise<void> {
    const { now, random, sleep } = this.#options;
    const delay = computeRetryDelay(this.#failures, problem, random());
    this.#setPhase({ type: 'retrying', problem, retryAt: now() + delay });
    await sleep(delay, signal);
  }

  #setPhase(phase: Phase): void {
    this.#phase = phase;
    this.#options.onChange();
  }
}

async function* readChunks({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

function toProblem(error: unknown): Problem {
  if (error instanceof RequestError) return error.problem;
  // The reader rejects with a TypeError if the connection is lost; invalid JSON throws a SyntaxError.
  return error instanceof TypeError ? NO_RESPONSE : INVALID_RESPONSE;
}

function codeOf(status: unknown): number {
  const { code } = (status ?? {}) as { readonly code?: unknown };
  return typeof code === 'number' ? code : 500;
}
