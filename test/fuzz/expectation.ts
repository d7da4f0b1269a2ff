// The expected response from the façade: the response from kube-apiserver, changed by the documented differences that apply.

import { parse as parseYaml } from 'yaml';
import { createErrorReply } from '../../src/kubernetes/reply.ts';
import type { StatusError } from '../../src/kubernetes/status.ts';
import { type FuzzRequest, headerOf, queryOf } from './request.ts';
import { type Comparable, normalizeText } from './response.ts';

/** A request, the response from kube-apiserver, and a function that sends another request to kube-apiserver, without protobuf. */
export interface Exchange {
  readonly request: FuzzRequest;
  readonly kube: Comparable;
  readonly resend: (request: FuzzRequest) => Promise<Comparable>;
}

export interface Difference {
  /** First cell of the row in docs/facade-differences.md. */
  readonly row: string;
  /** Returns the response from the façade; undefined if the row does not apply. */
  readonly expect: (exchange: Exchange) => Comparable | undefined | Promise<Comparable | undefined>;
  /** True if no more rows apply, because the façade rejects the request. */
  readonly isFinal?: boolean;
}

export interface Expectation {
  readonly response: Comparable;
  /** Titles of the rows that apply. */
  readonly rows: readonly string[];
}

/** Applies the differences in order. */
export async function expectationFor(exchange: Exchange, differences: readonly Difference[]): Promise<Expectation> {
  let response = exchange.kube;
  const rows: string[] = [];
  for (const { row, expect, isFinal } of differences) {
    const changed = await expect({ ...exchange, kube: response });
    if (changed === undefined) continue;
    rows.push(row);
    response = changed;
    if (isFinal) break;
  }
  return { response, rows };
}

/** Returns the response with which the façade rejects a request. */
export function rejection(request: FuzzRequest, error: StatusError, headers: Readonly<Record<string, string>> = {}): Comparable {
  const preferences = {
    accept: headerOf(request, 'accept'),
    userAgent: headerOf(request, 'user-agent'),
    pretty: queryOf(request).get('pretty') ?? undefined,
  };
  const reply = createErrorReply(error, preferences);
  return {
    status: reply.status,
    headers: {
      ...NO_HEADERS,
      'content-type': String(reply.headers['content-type']),
      'cache-control': 'no-cache, private',
      ...headers,
      'retry-after': error.retryAfterSeconds === undefined ? '' : 'present',
    },
    body: request.method === 'HEAD' ? '' : normalizeText(reply.body as string),
  };
}

/** Returns the message of a Status; empty for other bodies. */
export function messageOf({ body }: Comparable): string {
  try {
    return (parseYaml(body) as { readonly message?: string } | null)?.message ?? '';
  } catch {
    return '';
  }
}

const NO_HEADERS = Object.fromEntries(
  ['content-type', 'allow', 'www-authenticate', 'cache-control', 'content-encoding', 'location', 'warning'].map((name) => [name, '']),
);
