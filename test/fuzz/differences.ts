// All documented differences, by endpoint, in the order in which the façade checks requests.

import type { Difference } from './expectation.ts';
import { HTTP_DIFFERENCES, PATH_DIFFERENCE, PROTOBUF_DIFFERENCES } from './http-differences.ts';
import { LIST_DIFFERENCES } from './list-differences.ts';
import type { FuzzRequest } from './request.ts';
import type { Comparable } from './response.ts';
import { TOKEN_DIFFERENCES } from './token-differences.ts';

/** Documented differences of each endpoint. */
const DIFFERENCES: Readonly<Record<FuzzRequest['endpoint'], readonly Difference[]>> = {
  token: [...HTTP_DIFFERENCES, ...TOKEN_DIFFERENCES],
  list: [...HTTP_DIFFERENCES, ...LIST_DIFFERENCES],
};

/** Titles of all rows that the comparison uses. */
export const ROWS: readonly string[] = [...HTTP_DIFFERENCES, ...TOKEN_DIFFERENCES, ...LIST_DIFFERENCES].map(({ row }) => row);

/** Returns the differences that can apply to a response from kube-apiserver. Both servers check the path and then `timeout` first. */
export function differencesFor({ endpoint }: FuzzRequest, { body }: Comparable): readonly Difference[] {
  const isRejectedFirst = body.includes('invalid timeout specified in the request URL');
  return isRejectedFirst ? [PATH_DIFFERENCE, ...PROTOBUF_DIFFERENCES] : DIFFERENCES[endpoint];
}
