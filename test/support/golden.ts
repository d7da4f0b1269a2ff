// Replays recorded exchanges with a real kube-apiserver. Requests that quote an earlier answer are rebuilt from the answers
// of the replay; answers are equal but for what must differ between two runs.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiRequest, ApiResponse } from './api-request.ts';
import { asInOneSecond } from './golden-order.ts';
import { type Match, matchTemplate, rewriteContinueToken, type Stand } from './golden-template.ts';

/** One recorded exchange. */
export interface Recording {
  readonly name: string;
  readonly request: {
    readonly method?: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | { readonly base64: string } | null;
    /** The body was too long to keep. */
    readonly big?: boolean;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    /** A list without the contents of its items. */
    readonly summary?: Summary;
  };
}

interface Summary {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly itemNames: readonly string[];
}

/** Converts a recorded and an actual body into two bodies that must be equal. */
export type Relaxation = (recorded: string, actual: string) => readonly [string, string];

export type Send = (method: string, path: string, request: ApiRequest) => Promise<ApiResponse>;

/** The recordings of `test/golden/<name>.json`, in their order. */
export function recordings(name: string): readonly Recording[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../golden', `${name}.json`), 'utf8')) as Recording[];
}

/** An answer as far as it is compared. */
export interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** True if an object has a revision that no earlier response contained; undefined for other responses. */
  readonly revision: 'new' | 'known' | undefined;
  readonly body: string;
}

/** Sends recorded requests one after the other, and tells what was to come from what came. */
export class Replay {
  readonly #send: Send;
  /** Values of the recording, each with the one that stands in its place in this run. */
  readonly #stands = new Map<string, string>();
  /** Metadata of this run by uid and resourceVersion of the recording. */
  readonly #metadata = new Map<string, Metadata>();
  readonly #revisionsRecorded = new Set<string>();
  readonly #revisionsSeen = new Set<string>();

  constructor(send: Send) {
    this.#send = send;
  }

  /** Plays one recording. `expected` and `actual` are equal if the server answers as recorded. */
  async play(recording: Recording, relax: Relaxation = strict): Promise<{ expected: Outcome; actual: Outcome }> {
    const { status, headers, summary, body = '' } = recording.response;
    const recorded = summary ? JSON.stringify(summary) : body.replace(CUT, '');
    const wasCut = CUT.test(body);
    const answer = await this.#ask(recording, wasCut ? { maxLength: body.length * 2 } : {});
    const came = summary ? summaryOf(answer.body) : wasCut ? firstLines(answer.body, recorded) : answer.body;
    this.#learnMetadata(metadataOf(recorded), metadataOf(came));
    const [template, actual] = relax(asInOneSecond(recorded), asInOneSecond(came));
    const match = matchTemplate(template, actual);
    match.stands.forEach((stand) => this.#learn(stand));
    return {
      expected: { status, headers, revision: freshness(recorded, this.#revisionsRecorded), body: this.#withConstants(match) },
      actual: { status: answer.status, headers: comparedHeaders(answer), revision: freshness(came, this.#revisionsSeen), body: actual },
    };
  }

  async #ask({ name, request }: Recording, options: ApiRequest): Promise<ApiResponse> {
    const inToken = (text: string) => text.replace(/(?<="rv":)\d+/, (revision) => this.#revision(revision));
    const path = request.path
      .replace(/(?<=[?&]resourceVersion=)\d+/, (revision) => this.#revision(revision))
      .replace(/(?<=[?&]continue=)eyJ[\w-]+/, (token) => rewriteContinueToken(token, inToken));
    const headers = Object.entries(request.headers ?? {}).filter(([, value]) => value !== '');
    const body = request.big ? BIG_BODIES[name] : this.#rebuilt(request.body ?? '');
    return this.#send(request.method ?? 'GET', path, { ...options, headers: Object.fromEntries(headers), ...(body && { body }) });
  }

  #rebuilt(body: string | { readonly base64: string }): string | Buffer {
    if (typeof body !== 'string') return Buffer.from(body.base64, 'base64');
    const quoted = metadataOf(body);
    const metadata = quoted && this.#metadata.get(keyOf(quoted));
    if (metadata) return JSON.stringify({ ...(JSON.parse(body) as object), metadata });
    return body.replace(TOKEN, this.#stands.get(TOKEN) ?? TOKEN);
  }

  /** Requests also ask for a revision that is far in the future. */
  #revision(recorded: string): string {
    const ahead = Number(recorded) > FUTURE ? FUTURE : 0;
    const known = this.#stands.get(revisionKey(String(Number(recorded) - ahead)));
    return known === undefined ? recorded : String(Number(known) + ahead);
  }

  #learnMetadata(recorded: Metadata | undefined, actual: Metadata | undefined): void {
    if (!recorded || !actual || this.#metadata.has(keyOf(recorded))) return;
    this.#metadata.set(keyOf(recorded), actual);
  }

  #learn({ kind, recorded, actual }: Stand): void {
    if (kind === 'revision') this.#learnOnce(revisionKey(recorded), actual);
    else if (kind === 'token') this.#stands.set(recorded, actual);
    else if (CONSTANTS.has(kind)) this.#learnOnce(recorded, actual);
  }

  /** The first meeting counts: a list that was at a revision then may be at a later one now. */
  #learnOnce(recorded: string, actual: string): void {
    if (!this.#stands.has(recorded)) this.#stands.set(recorded, actual);
  }

  /** A value that names one object throughout the recording must name one object throughout the run. */
  #withConstants({ expected, stands }: Match): string {
    const changed = stands.filter(({ kind, recorded, actual }) => CONSTANTS.has(kind) && this.#stands.get(recorded) !== actual);
    return changed.reduce((text, { recorded, actual }) => text.replaceAll(actual, this.#stands.get(recorded) ?? recorded), expected);
  }
}

interface Metadata {
  readonly uid: string;
  readonly resourceVersion: string;
}

const TOKEN = '<jwt>';
const FUTURE = 100_000;
const CONSTANTS = new Set(['uid', 'generatedName']);
/** Marks an answer without end; the last line is incomplete. */
const CUT = /[^\n]*…\(cut\)$/;

const BIG_BODIES: Readonly<Record<string, string>> = {
  'audiences-long': JSON.stringify({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { audiences: Array.from({ length: 500 }, (_, index) => `aud${index}`) },
  }),
};

const COMPARED_HEADERS = new Set(['content-type', 'warning', 'retry-after', 'www-authenticate', 'allow', 'location']);

const strict: Relaxation = (recorded, actual) => [recorded, actual];

function comparedHeaders({ headers }: ApiResponse): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => COMPARED_HEADERS.has(name)));
}

function summaryOf(body: string): string {
  const list = parsed(body);
  if (!Array.isArray(list?.items)) return body;
  const itemNames = list.items.map(({ metadata }) => metadata.name);
  return JSON.stringify({ apiVersion: list.apiVersion, kind: list.kind, metadata: list.metadata, itemNames });
}

function firstLines(body: string, like: string): string {
  const lines = body.split('\n').slice(0, like.split('\n').length - 1);
  return lines.map((line) => `${line}\n`).join('');
}

function freshness(body: string, known: Set<string>): Outcome['revision'] {
  const metadata = metadataOf(body);
  if (metadata === undefined) return undefined;
  const key = keyOf(metadata);
  const isKnown = known.has(key);
  known.add(key);
  return isKnown ? 'known' : 'new';
}

function metadataOf(body: string): Metadata | undefined {
  const metadata = parsed(body)?.metadata;
  return metadata?.uid && metadata.resourceVersion ? (metadata as Metadata) : undefined;
}

function keyOf({ uid, resourceVersion }: Metadata): string {
  return `${uid} ${resourceVersion}`;
}

function revisionKey(revision: string): string {
  return `revision ${revision}`;
}

interface Parsed {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: Partial<Metadata>;
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
}

function parsed(body: string): Parsed | undefined {
  try {
    return JSON.parse(body) as Parsed;
  } catch {
    return undefined;
  }
}
