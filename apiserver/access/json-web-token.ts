// JSON Web Tokens in compact form, as Kubernetes writes them: base64url(header).base64url(claims).base64url(signature).

import { goJson } from '../../src/std/go-text.ts';
import { type SigningKey, signText, type VerifyingKey, verifiesText } from './signing-key.ts';

/** A token taken apart; nothing in it can be trusted before its signature is verified. */
export interface ParsedToken {
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly signedText: string;
  readonly signature: Buffer;
}

/** Signs claims; their keys are written in order. */
export async function signToken(claims: Readonly<Record<string, unknown>>, key: SigningKey): Promise<string> {
  const signedText = [{ alg: key.algorithm, kid: key.id }, claims].map((part) => Buffer.from(goJson(part)).toString('base64url')).join('.');
  const signature = await signText(key, signedText);
  return `${signedText}.${signature.toString('base64url')}`;
}

/** Takes a token apart, or answers undefined if it is not one. */
export function parseToken(token: string): ParsedToken | undefined {
  const [header, claims, signature, ...rest] = token.split('.');
  if (header === undefined || claims === undefined || signature === undefined || rest.length > 0) return undefined;
  // A header that names no key is allowed, and so is none at all.
  const parsedHeader = header === '' ? {} : decodedObject(header);
  const parsedClaims = decodedObject(claims);
  const signatureBytes = decoded(signature);
  if (parsedHeader === undefined || parsedClaims === undefined || signatureBytes === undefined) return undefined;
  if (typeof (parsedHeader['kid'] ?? '') !== 'string') return undefined;
  return { header: parsedHeader, claims: parsedClaims, signedText: `${header}.${claims}`, signature: signatureBytes };
}

/** Whether the token was signed with this key, by the algorithm that belongs to the key. */
export function isSignedBy(token: ParsedToken, key: VerifyingKey): boolean {
  // Extensions that must be understood are not: we know none.
  if (token.header['alg'] !== key.algorithm || token.header['crit'] !== undefined) return false;
  return verifiesText(key, token.signedText, token.signature);
}

function decodedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  const bytes = decoded(text);
  if (bytes === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** As Go reads it: without padding, and whatever the last character's spare bits are. */
function decoded(text: string): Buffer | undefined {
  return /^[\w-]*$/.test(text) && text.length % 4 !== 1 ? Buffer.from(text, 'base64url') : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
