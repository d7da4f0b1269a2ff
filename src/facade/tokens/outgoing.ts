// What the target is asked for, made of checked fields alone.

import { TOKEN_REQUEST } from '../../kubernetes/reviews.ts';
import type { TokenRequest as Posted, PostedAccount } from '../../kubernetes/token-request.ts';
import { objectText } from '../../kubernetes/wire/encode.ts';
import type { BoundObject, TokenRequest } from '../../targets/policy/token-request.ts';

/** A request to a target. */
export interface Outgoing {
  /** What the answer is checked against. */
  readonly asked: TokenRequest;
  readonly body: string;
}

/** What a caller's request becomes. */
export interface Allowed {
  readonly audiences: readonly string[];
  readonly expirationSeconds: number | bigint;
}

/** The request to the target for what a caller posted, as far as it is allowed. */
export function outgoingOf({ apiVersion, kind, metadata, spec }: Posted, { namespace, name }: PostedAccount, allowed: Allowed): Outgoing {
  const { audiences, expirationSeconds } = allowed;
  const { boundObjectRef } = spec;
  const boundObject = boundObjectOf(boundObjectRef);
  const asked = {
    namespace,
    name,
    audiences,
    expirationSeconds: Number(expirationSeconds),
    ...(boundObject && { boundObject }),
    ...(metadata.uid && { accountUID: metadata.uid }),
  };
  const named = { ...(metadata.name && { name: metadata.name }), ...(metadata.uid && { uid: metadata.uid }) };
  const sent = { apiVersion, kind, metadata: named, spec: { audiences, expirationSeconds, boundObjectRef } };
  return { asked, body: objectText(sent, TOKEN_REQUEST) };
}

function boundObjectOf(reference: Posted['spec']['boundObjectRef']): BoundObject | undefined {
  if (reference === undefined) return undefined;
  const { kind, name = '', uid } = reference;
  return { kind: kind as BoundObject['kind'], name, ...(uid && { uid }) };
}
