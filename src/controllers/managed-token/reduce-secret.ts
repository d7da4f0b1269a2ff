// Secrets without what is secret in them: reduced as they arrive, so that no token stays in memory.

import { hash } from 'node:crypto';
import { TokenSecretKey } from '../../api/names.ts';
import type { Secret } from '../../api/resources.ts';
import { tokenClaims } from '../../domain/token-claims.ts';
import type { StoredSecret } from '../../domain/token-observation.ts';
import { type OutputTarget, outputsText, outputTexts, type SecretTexts } from '../../domain/token-outputs.ts';

/** What is kept of a Secret: identity, annotations, claims and digests. */
export function reduceSecret({ metadata, type = 'Opaque', immutable = false, data = {} }: Secret): StoredSecret {
  const { managedFields: _, ...kept } = metadata;
  const texts = decoded(data);
  const token = texts[TokenSecretKey.token] ?? '';
  const claims = tokenClaims(token);
  return {
    metadata: kept,
    type,
    immutable,
    ...(token !== '' && { tokenDigest: digestOf(token) }),
    outputsDigest: digestOf(outputsText(texts)),
    ...(claims && { claims }),
  };
}

/** The `outputsDigest` of a Secret that holds what is wanted. */
export function wantedDigest(target: OutputTarget): string {
  return digestOf(outputsText(outputTexts(target, PLACEHOLDER)));
}

/** `sha256:` and the digest of a text. */
export function digestOf(text: string): string {
  return `sha256:${hash('sha256', text)}`;
}

/** The token of a Secret; empty where there is none. */
export function tokenOf({ data = {} }: Secret): string {
  return decoded(data)[TokenSecretKey.token] ?? '';
}

/** Stands for a token, and for nothing else that a Secret of ours holds. */
const PLACEHOLDER = '~purser~the-token-goes-here~';

function decoded(data: Readonly<Record<string, string>>): SecretTexts {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}
