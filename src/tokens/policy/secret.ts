// The Secret that holds a token, whole, as it is to be written.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Annotation } from '../../api/names.ts';
import type { Secret } from '../../api/resources.ts';
import type { ObjectMeta } from '../../api/wire.ts';
import type { OutputTarget, SecretTexts } from '../outputs/forms.ts';
import { outputTexts, tokenKeys } from '../outputs/outputs.ts';
import type { TokenRecord } from './record.ts';
import { desiredMetadata } from './secret-metadata.ts';

/** Everything about the Secret but the token. */
export interface WantedSecret {
  readonly token: ManagedToken;
  readonly record: TokenRecord;
  readonly target: OutputTarget;
  /** Metadata of the Secret that is changed; undefined for a new one. */
  readonly existing?: ObjectMeta;
  /** Returns the digest of a text. */
  readonly digestOf: (text: string) => string;
}

/** Returns the Secret as it is to be written. */
export function desiredSecret({ token, record, target, existing, digestOf }: WantedSecret, tokenText: string): Secret {
  const data = encoded(outputTexts(target, tokenText));
  const digests = outputsDigests(digestOf(renderedOutputs(target)), digestOf(dataText(data)));
  const metadata = {
    name: secretNameOf(token),
    ...(token.metadata.namespace && { namespace: token.metadata.namespace }),
    ...(existing && preconditions(existing)),
    ...desiredMetadata(token, record, digests, existing),
  };
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'Opaque', data };
}

/**
 * Returns the annotation that ties the data of a Secret to the outputs that it was rendered from. With it, Purser needs neither
 * the token nor a way to decode it to find data that is outdated or altered. The second digest covers the token, so only those who
 * can read the token can forge the annotation.
 */
export function outputsDigests(rendered: string, data: string): string {
  return `${rendered} ${data}`;
}

/** Returns the outputs, rendered with a placeholder in the place of the token, as one text. */
export function renderedOutputs(target: OutputTarget): string {
  return dataText(outputTexts(target, PLACEHOLDER));
}

const PLACEHOLDER = '~token~';

/** Returns the data of a Secret as one text. */
export function dataText(data: SecretTexts): string {
  return JSON.stringify(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the Secret without the token in any encoding. The record of the token stays. */
export function withoutToken(secret: Secret): Secret {
  const { [Annotation.tokenDigest]: _, [Annotation.outputsDigest]: __, ...annotations } = secret.metadata.annotations ?? {};
  const keys = tokenKeys();
  const data = Object.fromEntries(Object.entries(secret.data ?? {}).filter(([key]) => !keys.includes(key)));
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

function encoded(texts: SecretTexts): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]));
}
