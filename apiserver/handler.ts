// The request handler: authentication, impersonation, authorization, endpoint, and a response after the commit.

import { randomUUID } from 'node:crypto';
import type { Policy } from '../src/kubernetes/rbac.ts';
import { createErrorReply, type Reply } from '../src/kubernetes/reply.ts';
import { parseUrl, type RequestUrl } from '../src/kubernetes/request-url.ts';
import { internalError, StatusError, unauthorized } from '../src/kubernetes/status.ts';
import type { Preferences } from '../src/kubernetes/wire/negotiate.ts';
import { parseTimeoutMs } from '../src/kubernetes/wire/options.ts';
import { toWarningHeaders } from '../src/kubernetes/wire/warning.ts';
import { type Authenticators, authenticate } from './access/authenticate.ts';
import { impersonate } from './access/impersonate.ts';
import { authorize } from './access/policy.ts';
import { type ApiRequest, type IncomingRequest, parseRequestInfo } from './request.ts';

export interface HandlerDeps {
  readonly authenticators: Authenticators;
  readonly policy: Policy;
  now(): number;
  /** Resolves when all state that a response can contain is on disk; rejects after a failed commit. */
  whenDurable(): Promise<void>;
  /** Handles an authorized request. */
  endpoint(request: ApiRequest): Promise<Reply>;
  /** Receives unexpected errors. */
  report(error: unknown): void;
}

const BAD_URL: Reply = { status: 400, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: '400 Bad Request' };

/** Handles one request. The returned promise never rejects. */
export async function handle(deps: HandlerDeps, incoming: IncomingRequest): Promise<Reply> {
  const warnings: string[] = [];
  const url = parseUrl(incoming.url);
  if (url === undefined) return BAD_URL;
  const preferences = toPreferences(incoming, url.query);
  const reply = await respond(deps, incoming, url, { preferences, warn: (text) => void warnings.push(text) });
  return {
    ...reply,
    headers: {
      'audit-id': headerOf(incoming, 'audit-id') || randomUUID(),
      'cache-control': 'no-cache, private',
      ...reply.headers,
      ...(warnings.length > 0 && { warning: toWarningHeaders(warnings) }),
    },
  };
}

type Caller = Pick<ApiRequest, 'preferences' | 'warn'>;

async function respond(deps: HandlerDeps, incoming: IncomingRequest, url: RequestUrl, caller: Caller): Promise<Reply> {
  try {
    return await respondDurably(deps, async () => deps.endpoint(await admit(deps, incoming, url, caller)), isPlainRead(incoming, url));
  } catch (error) {
    if (error instanceof StatusError) return createErrorReply(error, caller.preferences);
    // Errors after the caller has disconnected are expected and are not reported.
    if (!incoming.signal.aborted) deps.report(error);
    return createErrorReply(internalError('the request could not be completed; see the server log', { cause: error }), caller.preferences);
  }
}

/** Maximum number of attempts for a read. A read is repeated after a failed commit, because its response may contain undone writes. */
const READ_ATTEMPTS = 5;

/** Responds after the commit. Errors wait too: they can contain stored state, such as the name of an existing object. */
async function respondDurably(deps: HandlerDeps, act: () => Promise<Reply>, isRepeatable: boolean): Promise<Reply> {
  for (let attempt = 1; ; attempt++) {
    const [outcome] = await Promise.allSettled([act()]);
    try {
      await deps.whenDurable();
    } catch (error) {
      if (isRepeatable && attempt < READ_ATTEMPTS) continue;
      throw error;
    }
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  }
}

/** Returns true for a request that can be repeated: a GET or HEAD that is not a watch. */
function isPlainRead({ method }: IncomingRequest, { path, query }: RequestUrl): boolean {
  return (method === 'GET' || method === 'HEAD') && parseRequestInfo(method, path, query).verb !== 'watch';
}

/** Authenticates and authorizes a request; applies impersonation. Throws 400, 401 or 403. */
async function admit(deps: HandlerDeps, incoming: IncomingRequest, { path, query }: RequestUrl, caller: Caller): Promise<ApiRequest> {
  const info = parseRequestInfo(incoming.method, path, query);
  if (info.verb !== 'watch') parseTimeoutMs(query);
  const { authenticators, policy } = deps;
  const authentication = await authenticate(headerOf(incoming, 'authorization'), authenticators.audiences, authenticators, deps.now());
  if (authentication.type === 'rejected') throw unauthorized();
  const user = impersonate(authentication.user, incoming.headers, info, policy);
  authorize(user, info, policy);
  return {
    ...caller,
    method: incoming.method,
    info,
    path,
    query,
    user,
    contentType: headerOf(incoming, 'content-type'),
    userAgent: headerOf(incoming, 'user-agent'),
    header: (name) => headerOf(incoming, name),
    authorize: (verb) => authorize(user, { ...info, verb }, policy),
    body: incoming.body,
    signal: incoming.signal,
  };
}

function toPreferences(incoming: IncomingRequest, query: URLSearchParams): Preferences {
  return {
    accept: headerOf(incoming, 'accept'),
    userAgent: headerOf(incoming, 'user-agent'),
    pretty: query.get('pretty') ?? undefined,
  };
}

function headerOf({ headers }: IncomingRequest, name: string): string | undefined {
  return headers[name]?.[0];
}
