// Rules of a fault proxy, which tests add and remove while it runs. The first rule that matches a request applies.

/** Request as the proxy sees it. */
export interface ProxiedRequest {
  /** Name of the API server that the request is for. */
  readonly server: string;
  readonly method: string;
  /** Path with its query. */
  readonly path: string;
}

/** Action on a request that matches a rule. */
export type Action =
  /** Responds in place of the server. */
  | { readonly type: 'respond'; readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** Closes the connection before the server sees the request. */
  | { readonly type: 'drop' }
  /** Forwards the request, and drops the response. */
  | { readonly type: 'lose' }
  /** Neither forwards the request nor responds. */
  | { readonly type: 'hold' }
  | { readonly type: 'delay'; readonly ms: number }
  /** Closes the connection after some bytes of the response. */
  | { readonly type: 'truncate'; readonly bytes: number }
  /** Alters the complete response. */
  | { readonly type: 'alter'; readonly alter: (body: string) => string }
  /** Alters each chunk of a streamed response. */
  | { readonly type: 'stream'; readonly alter: (chunk: Buffer) => readonly Buffer[] }
  /** Runs `act` before the request is forwarded, or before the response is delivered; then closes the connection. */
  | { readonly type: 'stop'; readonly when: 'before' | 'after'; readonly act: () => Promise<void> };

/** Disturbances that any request must survive. */
export const DISTURBANCES: readonly Action[] = [
  { type: 'drop' },
  { type: 'lose' },
  { type: 'hold' },
  { type: 'delay', ms: 4_000 },
  { type: 'truncate', bytes: 30 },
  { type: 'alter', alter: () => '{}' },
  { type: 'respond', status: 500 },
  { type: 'respond', status: 503, headers: { 'retry-after': '1' } },
  { type: 'respond', status: 429, headers: { 'retry-after': '2' } },
  { type: 'respond', status: 409 },
];

export type Matcher = (request: ProxiedRequest) => boolean;

/** Active rule. */
export interface Rule {
  /** Returns the number of requests to which the rule was applied. */
  readonly hits: () => number;
  readonly remove: () => void;
}

/** Rules of one proxy. */
export class Rules {
  readonly #rules: { match: Matcher; action: Action; left: number; hits: number }[] = [];

  /** Adds a rule that applies at most `times` times. */
  add(match: Matcher, action: Action, times = Infinity): Rule {
    const rule = { match, action, left: times, hits: 0 };
    this.#rules.push(rule);
    return { hits: () => rule.hits, remove: () => void this.#rules.splice(0, Infinity, ...this.#rules.filter((each) => each !== rule)) };
  }

  clear(): void {
    this.#rules.length = 0;
  }

  /** Returns the action for a request, and counts the use of its rule. */
  takeAction(request: ProxiedRequest): Action | undefined {
    const rule = this.#rules.find(({ match, left }) => left > 0 && match(request));
    if (rule === undefined) return undefined;
    rule.left -= 1;
    rule.hits += 1;
    return rule.action;
  }
}

/** Returns a matcher for a method and a path; an empty method matches all. */
export function matchRequests(method: string, path: RegExp): Matcher {
  return (request) => (method === '' || request.method === method) && path.test(request.path);
}

export const isWatch: Matcher = ({ path }) => /[?&]watch=(true|1)/.test(path);
export const isTokenRequest: Matcher = matchRequests('POST', /\/serviceaccounts\/[^/]+\/token(\?|$)/);
export const isSecretWrite: Matcher = ({ method, path }) => method !== 'GET' && /\/secrets(\/|\?|$)/.test(path);
export const isLease: Matcher = matchRequests('', /\/leases(\/|\?|$)/);

/** Matchers by kind of request. */
export const MATCHERS: Readonly<Record<string, Matcher>> = {
  tokens: isTokenRequest,
  secrets: isSecretWrite,
  watches: isWatch,
  leases: isLease,
  writes: ({ method }) => method !== 'GET',
  everything: () => true,
};

/** Matches requests for a single ManagedToken: no lists, watches, Lease requests or probes. */
export const isTokenWork: Matcher = (request) =>
  !isLease(request) &&
  !isWatch(request) &&
  (request.method !== 'GET' || /\/secrets\/[^/?]+/.test(request.path)) &&
  !/selfsubject|\/clusters\/|\/namespaces\/default\/events/.test(request.path);
