// From a caller's TokenRequest to the target's answer.

import type { KubeObject } from '../../kubernetes/object.ts';
import { answeredTokenRequest, checkUid, type PostedAccount } from '../../kubernetes/token-request.ts';
import { rfc3339 } from '../../std/timestamp.ts';
import { IssueError } from '../../targets/issue-error.ts';
import type { TokenSource } from '../../targets/target.ts';
import { exchangeToken, type IssuedToken } from '../../targets/token-exchange.ts';
import type { PostedTokenRequest } from './token-request.ts';

/** A token, and the answer that holds it. */
export interface Issued {
  readonly token: IssuedToken;
  readonly answer: KubeObject;
}

/** Has the target issue a token. Throws an IssueError, or 409 for another account of the same name. */
export async function issue(target: TokenSource, posted: PostedTokenRequest, account: PostedAccount, signal: AbortSignal): Promise<Issued> {
  const { request, audiences, expirationSeconds } = posted;
  const token = await exchange(target, posted, signal);
  const now = target.clock.now();
  const added = {
    account: { ...account, uid: token.accountUID },
    audiences,
    expirationSeconds: token.expirationSeconds ?? expirationSeconds,
    status: { token: token.token.reveal(), expirationTimestamp: rfc3339(token.statedExpiryAt) },
  };
  return { token, answer: answeredTokenRequest(request, added, now) };
}

async function exchange(target: TokenSource, { request, outgoing }: PostedTokenRequest, signal: AbortSignal): Promise<IssuedToken> {
  const { asked, body } = outgoing;
  try {
    return await exchangeToken(target, asked, body, signal);
  } catch (error) {
    // An older server did not heed the UID, and issued a token that nobody gets.
    if (error instanceof IssueError && error.reason === 'AccountRecreated' && error.status === undefined) {
      const { accountUID: uid = 'unknown' } = error;
      checkUid(request, { ...asked, uid });
    }
    throw error;
  }
}
