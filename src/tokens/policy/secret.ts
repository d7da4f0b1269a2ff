// The Secret that holds a token, whole, as it is to be written.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import type { Secret } from '../../api/resources.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import { type OutputTarget, outputTexts, TOKEN_KEYS } from '../outputs/outputs.ts';
import type { TokenRecord } from './record.ts';
import { desiredMetadata } from './secret-metadata.ts';

/** Everything about the Secret but the token. */
export interface WantedSecret {
  readonly token: ManagedToken;
  readonly record: TokenRecord;
  readonly target: OutputTarget;
  /** The metadata of the Secret that is changed; absent when one is made. */
  readonly existing?: ObjectMeta;
}

/** The wanted Secret; the token is given last, so that nobody has to hold it before. */
export function desiredSecret({ token, record, target, existing }: WantedSecret): (tokenText: string) => Secret {
  const metadata = {
    name: secretNameOf(token),
    ...(token.metadata.namespace && { namespace: token.metadata.namespace }),
    ...(existing && preconditions(existing)),
    ...desiredMetadata(token, record, existing),
  };
  return (tokenText) => ({ apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data: encoded(outputTexts(target, tokenText)) });
}

/** The Secret without the token in any form. Its record stays and says what the token was. */
export function withoutToken(secret: Secret): Secret {
  const { [Annotation.tokenDigest]: _, ...annotations } = secret.metadata.annotations ?? {};
  const data = Object.fromEntries(Object.entries(secret.data ?? {}).filter(([key]) => !TOKEN_KEYS.includes(key)));
  return { ...secret, metadata: { ...secret.metadata, annotations }, data };
}

/** The name that the Secret is to have. */
export function secretNameOf({ metadata, spec }: ManagedToken): string {
  return spec.secret.name || (metadata.name ?? '');
}

/** A PUT replaces everything, so it carries what is not ours, and is for this very version of this very object. */
function preconditions({ uid, resourceVersion, finalizers }: ObjectMeta): ObjectMeta {
  return { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }), ...(finalizers && { finalizers }) };
}

function encoded(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}
