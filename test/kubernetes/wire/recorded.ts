// Bodies, queries and warnings of exchanges recorded with a real kube-apiserver.

import type { Recording } from '../../support/golden.ts';

export function requestBody({ request: { body } }: Recording): Buffer {
  return typeof body === 'string' ? Buffer.from(body) : Buffer.from(body?.base64 ?? '', 'base64');
}

export function queryOf({ request: { path } }: Recording): URLSearchParams {
  return new URL(path, 'https://hub.test').searchParams;
}

export function messageOf({ response: { body = '' } }: Recording): string {
  return (JSON.parse(body) as { message: string }).message;
}

/** Splits a Warning header that was recorded as one line into its values. */
export function warningsOf({ response: { headers } }: Recording): string[] {
  return headers['warning']?.split(/, (?=299 - )/) ?? [];
}
