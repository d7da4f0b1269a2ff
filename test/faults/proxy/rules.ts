// What a fault proxy does to requests: rules that can be set and taken back while it runs. The first that matches counts.

/** A request as the proxy sees it. */
export interface Seen {
  /** The name of the API server that it is for. */
  readonly server: string;
  readonly method: string;
  /** With the query. */
  readonly path: string;
}

/** What is done to a request that matches. */
export type Action =
  /** Answered in the server's place. */
  | { readonly type: 'answer'; readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** The connection ends; the server hears nothing. */
  | { readonly type: 'drop' }
  /** The server has done it; its answer is lost. */
  | { readonly type: 'lose' }
  /** Neither passed on nor answered. */
  | { readonly type: 'hold' }
  | { readonly type: 'delay'; readonly ms: number }
  /** Ends after this many bytes of the answer. */
  | { readonly type: 'truncate'; readonly bytes: number }
  /** Whole answers, changed. */
  | { readonly type: 'alter'; readonly alter: (body: string) => string }
  /** Streams, changed chunk by chunk. */
  | { readonly type: 'stream'; readonly alter: (chunk: Buffer) => readonly Buffer[] }
  /** Told before the request is passed on, and when the answer is there but not delivered; waits for what it returns. */
  | { readonly type: 'stop'; readonly when: 'before' | 'after'; readonly act: () => Promise<void> };

export type Matcher = (request: Seen) => boolean;

/** A rule in force. */
export interface Rule {
  readonly hits: () => number;
  readonly remove: () => void;
}

/** The rules of one proxy. */
export class Rules {
  readonly #rules: { match: Matcher; action: Action; left: number; hits: number }[] = [];

  /** Adds a rule; it counts for so many requests. */
  add(match: Matcher, action: Action, times = Infinity): Rule {
    const rule = { match, action, left: times, hits: 0 };
    this.#rules.push(rule);
    return { hits: () => rule.hits, remove: () => void this.#rules.splice(0, Infinity, ...this.#rules.filter((each) => each !== rule)) };
  }

  clear(): void {
    this.#rules.length = 0;
  }

  /** What is to be done to a request, if anything. */
  actionFor(request: Seen): Action | undefined {
    const rule = this.#rules.find(({ match, left }) => left > 0 && match(request));
    if (rule === undefined) return undefined;
    rule.left -= 1;
    rule.hits += 1;
    return rule.action;
  }
}

/** Matches by method and path; an empty method is any. */
export function requests(method: string, path: RegExp): Matcher {
  return (request) => (method === '' || request.method === method) && path.test(request.path);
}

export const isWatch: Matcher = ({ path }) => /[?&]watch=(true|1)/.test(path);
export const isTokenRequest: Matcher = requests('POST', /\/serviceaccounts\/[^/]+\/token(\?|$)/);
export const isSecretWrite: Matcher = ({ method, path }) => method !== 'GET' && /\/secrets(\/|\?|$)/.test(path);
export const isLease: Matcher = requests('', /\/leases(\/|\?|$)/);

/** Requests by what they are for. */
export const MATCHERS: Readonly<Record<string, Matcher>> = {
  tokens: isTokenRequest,
  secrets: isSecretWrite,
  watches: isWatch,
  leases: isLease,
  writes: ({ method }) => method !== 'GET',
  everything: () => true,
};

/** What is asked for one ManagedToken: neither lists and watches, nor the Lease, nor the health of clusters. */
export const isTokenWork: Matcher = (request) =>
  !isLease(request) &&
  !isWatch(request) &&
  (request.method !== 'GET' || /\/secrets\/[^/?]+/.test(request.path)) &&
  !/selfsubject|\/clusters\/|\/namespaces\/default\/events/.test(request.path);
