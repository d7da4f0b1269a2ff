// Requests of anybody: by a token, or without one.

import { type Answer, type Body, warningsOf } from './objects.ts';
import type { ContractServer } from './server.ts';

export interface Question {
  /** POST when there is a body, else GET. */
  readonly method?: string;
  /** Bearer token of the caller; null for an anonymous request, the administrator's by default. */
  readonly as?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is text. */
  readonly body?: unknown;
}

export type Ask = (path: string, question?: Question) => Promise<Answer>;

export function askOf(server: ContractServer): Ask {
  return async (path, { method, as = server.tokens.admin, headers = {}, body } = {}) => {
    const all = {
      ...(as !== null && { authorization: `Bearer ${as}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    };
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const how = method ?? (body === undefined ? 'GET' : 'POST');
    const answer = await server.request(how, path, { headers: all, ...(body !== undefined && { body: text }) });
    return { status: answer.status, warnings: warningsOf(answer.headers['warning']), body: parsed(answer.body) };
  };
}

/** Returns the message of a response; a body that is not JSON, such as `404 page not found`, is the message itself. */
function parsed(text: string): Body {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return { kind: 'Status', apiVersion: '', metadata: { name: '', uid: '', resourceVersion: '' }, message: text.trim() };
  }
}
