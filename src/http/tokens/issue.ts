// From a caller's TokenRequest to the target's answer. The outgoing request is made of checked fields alone.

import type { KubeObject } from '../../apimachinery/object.ts';
import { TOKEN_REQUEST } from '../../apimachinery/reviews.ts';
import { answeredTokenRequest, checkUid, type PostedAccount, trackedTokenRequest } from '../../apimachinery/token-request.ts';
import { objectText } from '../../apimachinery/wire/encode.ts';
import type { BoundObject, TokenRequest } from '../../domain/token-request.ts';
import { IssueError } from '../../issuers/issue-error.ts';
import type { Target } from '../../issuers/target.ts';
import { exchangeToken, type IssuedToken } from '../../issuers/token-exchange.ts';
import { rfc3339 } from '../../std/timestamp.ts';
import type { PostedTokenRequest } from './read-request.ts';

/** A token, and the answer that holds it. */
export interface Issued {
  readonly token: IssuedToken;
  readonly answer: KubeObject;
}

/** Has the target issue a token. Throws an IssueError, or 409 for another account of the same name. */
export async function issue(target: Target, posted: PostedTokenRequest, account: PostedAccount, signal: AbortSignal): Promise<Issued> {
  const { request, audiences, manager, expirationSeconds } = posted;
  const token = await exchange(target, posted, account, signal);
  const now = target.clock.now();
  const added = {
    account: { ...account, uid: token.accountUID },
    audiences,
    expirationSeconds: token.expirationSeconds ?? expirationSeconds,
    status: { token: token.token.reveal(), expirationTimestamp: rfc3339(token.statedExpiryAt) },
  };
  return { token, answer: answeredTokenRequest(trackedTokenRequest(request, manager, now), added, now) };
}

async function exchange(target: Target, posted: PostedTokenRequest, account: PostedAccount, signal: AbortSignal): Promise<IssuedToken> {
  try {
    return await exchangeToken(target, requestOf(posted, account), bodyOf(posted), signal);
  } catch (error) {
    // An older server did not heed the UID, and issued a token that nobody gets.
    if (error instanceof IssueError && error.reason === 'AccountRecreated' && error.status === undefined) {
      const { accountUID: uid = 'unknown' } = error;
      checkUid(posted.request, { ...account, uid });
    }
    throw error;
  }
}

/** What the answer is checked against. */
function requestOf({ request, audiences, expirationSeconds }: PostedTokenRequest, { namespace, name }: PostedAccount): TokenRequest {
  const { uid: accountUID } = request.metadata;
  const boundObject = boundObjectOf(request.spec.boundObjectRef);
  return {
    namespace,
    name,
    audiences,
    expirationSeconds: Number(expirationSeconds),
    ...(boundObject && { boundObject }),
    ...(accountUID && { accountUID }),
  };
}

function boundObjectOf(reference: PostedTokenRequest['request']['spec']['boundObjectRef']): BoundObject | undefined {
  if (reference === undefined) return undefined;
  const { kind, name = '', uid } = reference;
  return { kind: kind as BoundObject['kind'], name, ...(uid && { uid }) };
}

function bodyOf({ request, audiences, expirationSeconds }: PostedTokenRequest): string {
  const { apiVersion, kind } = request;
  const { name, uid } = request.metadata;
  const { boundObjectRef } = request.spec;
  const metadata = { ...(name && { name }), ...(uid && { uid }) };
  return objectText({ apiVersion, kind, metadata, spec: { audiences, expirationSeconds, boundObjectRef } }, TOKEN_REQUEST);
}
