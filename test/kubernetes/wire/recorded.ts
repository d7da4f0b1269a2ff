// What the exchanges that were recorded with a real kube-apiserver say of bodies, queries and warnings.

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

/** The Warning header that was recorded as one line, back in single values. */
export function warningsOf({ response: { headers } }: Recording): string[] {
  return headers['warning']?.split(/, (?=299 - )/) ?? [];
}
