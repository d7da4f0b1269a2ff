import { describe, expect, it } from '@jest/globals';
import { Collection, type Phase } from '../../../src/ui/model/collection.ts';

interface Item {
  readonly key: string;
  readonly value: string;
}

/** Responses to the requests of a collection in their order; records the requests and the pauses between them. */
class Script {
  readonly queries: string[] = [];
  readonly pauses: number[] = [];
  readonly phases: Phase[] = [];
  readonly collection: Collection<Item>;
  readonly #ending = new AbortController();
  readonly #responses: (Response | Error | 'open')[];

  constructor(...responses: (Response | Error | 'open')[]) {
    this.#responses = responses;
    this.collection = new Collection<Item>({
      server: 'hub',
      request: (query, signal) => this.#respond(query, signal),
      parse: (object) => {
        const { metadata, value = '' } = object as { metadata: { name?: string }; value?: string };
        return metadata.name === undefined ? undefined : { key: metadata.name, value };
      },
      onChange: () => this.phases.push(this.collection.phase),
      now: () => 1_000,
      random: () => 1,
      sleep: (ms) => {
        this.pauses.push(ms);
        return Promise.resolve();
      },
    });
  }

  /** Runs until all responses are used; returns the values by key. */
  async run(): Promise<Readonly<Record<string, string>>> {
    await this.collection.run(this.#ending.signal);
    return Object.fromEntries([...this.collection.items].map(([key, { value }]) => [key, value]));
  }

  async #respond(query: string, signal: AbortSignal): Promise<Response> {
    this.queries.push(query);
    const response = this.#responses.shift();
    if (this.#responses.length === 0 && (response === undefined || response === 'open')) {
      this.#ending.abort();
      signal.throwIfAborted();
    }
    if (response instanceof Error) throw response;
    if (response === undefined || response === 'open') throw new Error('unexpected request');
    return await Promise.resolve(response);
  }
}

const object = (name: string, value = name, version = '5') => ({ metadata: { name, resourceVersion: version }, value });
const list = (version: string, names: readonly string[], more: object = {}) =>
  Response.json({ metadata: { resourceVersion: version, ...more }, items: names.map((name) => object(name)) });
const watch = (...events: readonly (readonly [string, unknown])[]) =>
  new Response(events.map(([type, each]) => `${JSON.stringify({ type, object: each })}\n`).join(''));
const gone = ['ERROR', { kind: 'Status', code: 410 }] as const;
const errorResponse = (status: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ kind: 'Status', message }, { status, headers });

/** Returns a response that breaks off after a string. */
function brokenResponse(text: string): Response {
  let isSent = false;
  return new Response(
    new ReadableStream({
      pull(controller) {
        if (isSent) return controller.error(new TypeError('network error'));
        isSent = true;
        controller.enqueue(new TextEncoder().encode(text));
      },
    }),
  );
}

describe('Collection', () => {
  it('reads all pages of a list, then watches from its version', async () => {
    const script = new Script(
      list('7', ['a', 'b'], { continue: 'next/2', remainingItemCount: 1 }),
      list('7', ['c']),
      watch(['BOOKMARK', { metadata: { resourceVersion: '8' } }]),
      'open',
    );
    expect(await script.run()).toEqual({ a: 'a', b: 'b', c: 'c' });
    expect(script.queries.slice(0, 3)).toEqual([
      'limit=500',
      'limit=500&continue=next%2F2',
      'watch=true&allowWatchBookmarks=true&resourceVersion=7',
    ]);
    expect(script.phases.slice(0, 2)).toEqual([{ type: 'loading', loaded: 2, remaining: 1 }, { type: 'live' }]);
  });

  it('applies events, and resumes from the version of the last event', async () => {
    const events = watch(
      ['ADDED', object('b')],
      ['MODIFIED', object('a', 'new')],
      ['DELETED', object('c')],
      ['BOOKMARK', { metadata: { resourceVersion: '9' } }],
    );
    const script = new Script(list('7', ['a', 'c']), events, 'open');
    expect(await script.run()).toEqual({ a: 'new', b: 'b' });
    expect(script.queries.at(-1)).toContain('resourceVersion=9');
    expect(script.pauses).toEqual([]);
  });

  it('joins events that arrive in pieces, even within a character', async () => {
    const bytes = new TextEncoder().encode(`${JSON.stringify({ type: 'ADDED', object: object('b', 'größer') })}\n`);
    const pieces = Array.from({ length: bytes.length }, (_, index) => bytes.slice(index, index + 1));
    const script = new Script(list('7', []), new Response(ReadableStream.from(pieces) as ReadableStream<Uint8Array>), 'open');
    expect(await script.run()).toEqual({ b: 'größer' });
  });

  it('lists again after 410, and removes objects that are no longer listed', async () => {
    const script = new Script(list('7', ['a', 'b']), watch(gone), list('20', ['b']), 'open');
    expect(await script.run()).toEqual({ b: 'b' });
    expect(script.queries.slice(2)).toEqual(['limit=500', 'watch=true&allowWatchBookmarks=true&resourceVersion=20']);
    expect(script.pauses).toEqual([]);
  });

  it('pauses before each further list if the watch keeps returning 410', async () => {
    const script = new Script(list('7', []), watch(gone), list('8', []), watch(gone), list('9', []), 'open');
    await script.run();
    expect(script.pauses).toEqual([1_000]);
  });

  it('keeps the objects while it lists again', async () => {
    const script = new Script(
      list('7', ['a', 'b']),
      watch(gone),
      list('8', ['b'], { continue: 'x' }),
      new TypeError('offline'),
      list('9', ['b']),
      'open',
    );
    const sizes: number[] = [];
    const phases = script.phases;
    const push = phases.push.bind(phases);
    phases.push = (...added) => {
      sizes.push(script.collection.items.size);
      return push(...added);
    };
    expect(await script.run()).toEqual({ b: 'b' });
    expect(sizes.slice(0, -1).every((size) => size === 2)).toBe(true);
    expect(script.phases.map(({ type }) => type)).not.toContain('loading');
  });

  it('resumes after a broken connection from the last version, with growing pauses', async () => {
    const event = `${JSON.stringify({ type: 'ADDED', object: object('b', 'b', '8') })}\n`;
    const script = new Script(list('7', ['a']), brokenResponse(event), new TypeError('x'), new TypeError('x'), 'open');
    expect(await script.run()).toEqual({ a: 'a', b: 'b' });
    expect(script.queries.slice(2).every((query) => query.endsWith('resourceVersion=8'))).toBe(true);
    expect(script.pauses).toEqual([500, 1_000, 2_000]);
    expect(script.phases.find(({ type }) => type === 'retrying')).toMatchObject({ problem: { status: 0 }, retryAt: 1_500 });
  });

  it('lets other work of the page proceed between many events', async () => {
    const events = Array.from(
      { length: 120 },
      (_, index) => `${JSON.stringify({ type: 'ADDED', object: object(`n${index}`, 'x', '8') })}\n`,
    );
    const pieces = events.map((event) => new TextEncoder().encode(event));
    const script = new Script(list('7', []), new Response(ReadableStream.from(pieces) as ReadableStream<Uint8Array>), 'open');
    expect(Object.keys(await script.run())).toHaveLength(120);
    expect(script.pauses).toEqual([0, 0]);
  });

  it('reports live data only after the watch is open', async () => {
    const script = new Script(list('7', ['a']), errorResponse(503, 'stopping'), new TypeError('x'), 'open');
    await script.run();
    expect(script.phases.map(({ type }) => type)).toEqual(['retrying', 'retrying']);
  });

  it('pauses if a server ends watches immediately', async () => {
    const script = new Script(list('7', []), new Response(''), new Response(''), 'open');
    await script.run();
    expect(script.pauses).toEqual([500, 500]);
  });

  it('ends and forgets all objects if the credential is rejected', async () => {
    const script = new Script(list('7', ['a']), errorResponse(401, 'Unauthorized'));
    expect(await script.run()).toEqual({});
    expect(script.collection.phase).toMatchObject({
      type: 'rejected',
      problem: {
        status: 401,
        cause: 'The hub does not accept the credential in your kubeconfig: the credential is invalid or has expired.',
      },
    });
  });

  it('forgets all objects without permission, and retries after 30 s', async () => {
    const script = new Script(list('7', ['a']), errorResponse(403, 'clusters is forbidden'), 'open');
    expect(await script.run()).toEqual({});
    expect(script.pauses).toEqual([30_000]);
    expect(script.collection.phase).toMatchObject({ type: 'retrying', problem: { cause: 'Permission denied: clusters is forbidden' } });
  });

  it('waits for the time in Retry-After', async () => {
    const script = new Script(errorResponse(429, 'slow down', { 'retry-after': '7' }), list('7', ['a']), 'open');
    expect(await script.run()).toEqual({ a: 'a' });
    expect(script.pauses).toEqual([7_000]);
  });

  it.each([
    ['HTML', new Response('<html>login</html>')],
    ['an object without items', Response.json({ metadata: { resourceVersion: '1' } })],
    ['null', Response.json(null)],
  ])('reports a response that is %s', async (_name, response) => {
    const script = new Script(response, 'open');
    await script.run();
    expect(script.phases).toMatchObject([{ problem: { cause: 'The response is not a list or watch of Kubernetes objects.' } }]);
  });

  it.each([['not JSON'], ['{"type":"RUN"}'], ['null'], ['7']])('reports a watch that sends %s', async (line) => {
    const script = new Script(list('7', ['a']), new Response(`${line}\n`), 'open');
    expect(await script.run()).toEqual({ a: 'a' });
    expect(script.phases.some((phase) => phase.type === 'retrying')).toBe(true);
  });
});
