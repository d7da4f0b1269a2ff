// Requests to the server under test, as any caller, and their parsed responses.

import type { ApiResponse } from '../support/api-request.ts';
import type { ContractServer } from './server.ts';

export interface RequestOptions {
  /** HTTP method; by default POST for a request with a body, otherwise GET. */
  readonly method?: string;
  /** Bearer token of the caller; null for an anonymous request, the administrator's by default. */
  readonly as?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Body, sent as JSON unless it is a string. */
  readonly body?: unknown;
}

/** Object, list or Status in a response. */
export interface Body {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly managedFields?: readonly ManagedFields[];
    readonly [field: string]: unknown;
  };
  readonly message?: string;
  readonly reason?: string;
  readonly [field: string]: unknown;
}

interface ManagedFields {
  readonly manager: string;
  readonly operation: string;
  readonly subresource?: string;
  readonly fieldsV1: object;
}

export interface KubeResponse {
  readonly status: number;
  /** Strings of the Warning headers. */
  readonly warnings: readonly string[];
  readonly body: Body;
}

export type Send = (path: string, options?: RequestOptions) => Promise<KubeResponse>;

/** Returns a function that sends requests to a server, and parses the responses. */
export function createSender(server: ContractServer): Send {
  return async (path, options) => {
    const response = await sendRaw(server, path, options);
    return { status: response.status, warnings: warningsOf(response), body: parseBody(response.body) };
  };
}

/** Sends a request, and returns the unparsed response. */
export function sendRaw(server: ContractServer, path: string, options: RequestOptions = {}): Promise<ApiResponse> {
  const { as = server.tokens.admin, body } = options;
  const method = options.method ?? (body === undefined ? 'GET' : 'POST');
  const headers = {
    ...(as !== null && { authorization: `Bearer ${as}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...options.headers,
  };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return server.request(method, path, { headers, ...(body !== undefined && { body: text }) });
}

/** Returns the texts of the Warning headers. */
export function warningsOf({ headers }: ApiResponse): readonly string[] {
  const header = headers['warning'];
  const texts =
    header === undefined
      ? []
      : Buffer.from(header, 'latin1')
          .toString('utf8')
          .split(/, (?=299 - ")/);
  return texts.map((text) => JSON.parse(text.slice('299 - '.length)) as string);
}

/** Returns a response on one line: `409 AlreadyExists: configmaps "x" already exists`, or `200` for success. */
export function outcome({ status, body }: KubeResponse): string {
  if (body.kind !== 'Status' || body['status'] === 'Success') return String(status);
  return `${status}${body.reason === undefined ? '' : ` ${body.reason}`}: ${body.message}`;
}

/** Parses a body. A body that is not JSON, such as `404 page not found`, becomes the message of a Status. */
function parseBody(text: string): Body {
  try {
    return JSON.parse(text) as Body;
  } catch {
    return { kind: 'Status', apiVersion: '', metadata: { name: '', uid: '', resourceVersion: '' }, message: text.trim() };
  }
}
