// Replays recorded exchanges with a real kube-apiserver. Requests that quote an earlier response are rebuilt from the responses of the
// replay. Responses must be equal except for values that depend on the run.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiRequest, ApiResponse } from './api-request.ts';
import { sortManagedFields } from './golden-order.ts';
import { type Match, matchTemplate, rewriteContinueToken, type Substitution } from './golden-template.ts';

/** One recorded exchange. */
export interface Recording {
  readonly name: string;
  readonly request: {
    readonly method?: string;
    readonly path: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string | { readonly base64: string } | null;
    /** True if the recording omits the body because of its length. */
    readonly big?: boolean;
  };
  readonly response: {
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
    /** List with only the names of its items; replaces `body`. */
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

/** Returns the recordings in `test/golden/<name>.json`, in order. */
export function recordings(name: string): readonly Recording[] {
  return JSON.parse(readFileSync(join(import.meta.dirname, '../golden', `${name}.json`), 'utf8')) as Recording[];
}

/** Compared parts of a response. */
export interface Outcome {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** `new` for an object with a revision that no earlier response contained; undefined for responses without a revision. */
  readonly revision: 'new' | 'known' | undefined;
  readonly body: string;
}

/** Sends recorded requests in order, and returns the expected and the actual responses. */
export class Replay {
  readonly #send: Send;
  /** Values of this run by the recorded values that they replace. */
  readonly #values = new Map<string, string>();
  /** Metadata of this run by uid and resourceVersion of the recording. */
  readonly #metadata = new Map<string, Metadata>();
  readonly #revisionsRecorded = new Set<string>();
  readonly #revisionsSeen = new Set<string>();

  constructor(send: Send) {
    this.#send = send;
  }

  /** Sends one recorded request. `expected` and `actual` are equal if the server responds as recorded. */
  async play(recording: Recording, relax: Relaxation = strict): Promise<{ expected: Outcome; actual: Outcome }> {
    const { status, headers, summary, body = '' } = recording.response;
    const recorded = summary ? JSON.stringify(summary) : body.replace(CUT, '');
    const wasCut = CUT.test(body);
    const response = await this.#sendRecorded(recording, wasCut ? { maxLength: body.length * 2 } : {});
    const received = summary ? summaryOf(response.body) : wasCut ? firstLines(response.body, recorded) : response.body;
    this.#learnMetadata(metadataOf(recorded), metadataOf(received));
    const [template, actual] = relax(sortManagedFields(recorded), sortManagedFields(received));
    const match = matchTemplate(template, actual);
    match.substitutions.forEach((substitution) => this.#learn(substitution));
    return {
      expected: { status, headers, revision: freshness(recorded, this.#revisionsRecorded), body: this.#withConstants(match) },
      actual: {
        status: response.status,
        headers: comparedHeaders(response),
        revision: freshness(received, this.#revisionsSeen),
        body: actual,
      },
    };
  }

  async #sendRecorded({ name, request }: Recording, options: ApiRequest): Promise<ApiResponse> {
    const rewrite = (text: string) => text.replace(/(?<="rv":)\d+/, (revision) => this.#revision(revision));
    const path = request.path
      .replace(/(?<=[?&]resourceVersion=)\d+/, (revision) => this.#revision(revision))
      .replace(/(?<=[?&]continue=)eyJ[\w-]+/, (token) => rewriteContinueToken(token, rewrite));
    const headers = Object.entries(request.headers ?? {}).filter(([, value]) => value !== '');
    const body = request.big ? BIG_BODIES[name] : this.#rebuildBody(request.body ?? '');
    return this.#send(request.method ?? 'GET', path, { ...options, headers: Object.fromEntries(headers), ...(body && { body }) });
  }

  #rebuildBody(body: string | { readonly base64: string }): string | Buffer {
    if (typeof body !== 'string') return Buffer.from(body.base64, 'base64');
    const quoted = metadataOf(body);
    const metadata = quoted && this.#metadata.get(keyOf(quoted));
    if (metadata) return JSON.stringify({ ...(JSON.parse(body) as object), metadata });
    return body.replace(TOKEN, this.#values.get(TOKEN) ?? TOKEN);
  }

  /** Returns the revision of this run for a recorded one, which may be far in the future. */
  #revision(recorded: string): string {
    const isFuture = Number(recorded) > FUTURE;
    const known = this.#values.get(revisionKey(String(Number(recorded) - (isFuture ? FUTURE : 0))));
    if (known === undefined) return recorded;
    // The façade appends eight digits to a revision.
    return isFuture ? String(BigInt(known) + BigInt(FUTURE) * 10n ** 8n) : known;
  }

  #learnMetadata(recorded: Metadata | undefined, actual: Metadata | undefined): void {
    if (!recorded || !actual || this.#metadata.has(keyOf(recorded))) return;
    this.#metadata.set(keyOf(recorded), actual);
  }

  #learn({ kind, recorded, actual }: Substitution): void {
    if (kind === 'revision') this.#learnOnce(revisionKey(recorded), actual);
    else if (kind === 'token') this.#values.set(recorded, actual);
    else if (CONSTANTS.has(kind)) this.#learnOnce(recorded, actual);
  }

  /** Keeps the first value: a later list may have another revision in this run although it has the same one in the recording. */
  #learnOnce(recorded: string, actual: string): void {
    if (!this.#values.has(recorded)) this.#values.set(recorded, actual);
  }

  /** Returns the expected text, with one value per object: UIDs and generated names must not change within the run. */
  #withConstants({ expected, substitutions }: Match): string {
    const changed = substitutions.filter(({ kind, recorded, actual }) => CONSTANTS.has(kind) && this.#values.get(recorded) !== actual);
    return changed.reduce((text, { recorded, actual }) => text.replaceAll(actual, this.#values.get(recorded) ?? recorded), expected);
  }
}

interface Metadata {
  readonly uid: string;
  readonly resourceVersion: string;
}

const TOKEN = '<jwt>';
/** Distance of a future revision from a known one in the recordings. */
const FUTURE = 100_000;
const CONSTANTS = new Set(['uid', 'generatedName']);
/** Mark at the end of a recorded watch, whose last line is incomplete. */
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
  const list = tryParse(body);
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
  const metadata = tryParse(body)?.metadata;
  return metadata?.uid && metadata.resourceVersion ? (metadata as Metadata) : undefined;
}

function keyOf({ uid, resourceVersion }: Metadata): string {
  return `${uid} ${resourceVersion}`;
}

function revisionKey(revision: string): string {
  return `revision ${revision}`;
}

interface KubeBody {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: Partial<Metadata>;
  readonly items?: readonly { readonly metadata: { readonly name: string } }[];
}

function tryParse(body: string): KubeBody | undefined {
  try {
    return JSON.parse(body) as KubeBody;
  } catch {
    return undefined;
  }
}
