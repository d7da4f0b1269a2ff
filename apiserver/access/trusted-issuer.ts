// Verification of another cluster's tokens, like a `jwt` authenticator in kube-apiserver's AuthenticationConfiguration.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { text } from 'node:stream/consumers';
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { parseToken } from './signing-key.ts';
import type { User } from './user.ts';

/** A trusted issuer, and the requirements for its tokens. */
export interface TrustedIssuer {
  readonly url: string;
  /** Returns the URL of the issuer's discovery document, and the CA of the server at that URL as PEM. */
  readonly discovery: () => Promise<{ readonly url: string; readonly ca: string }>;
  /** Returns the audiences that a server with this URL accepts; a token must have one of them. */
  readonly audiences: (serverUrl: string) => readonly string[];
  /** Required `sub` claim of tokens. */
  readonly subject: string;
  /** Prefix of the user name; the `sub` claim follows. */
  readonly usernamePrefix: string;
}

/** Verifier of a trusted issuer's tokens. Fetches the issuer's keys once: in a local run, the keys do not change while the process runs. */
export class TrustedTokenVerifier {
  readonly #issuer: TrustedIssuer;
  readonly #serverUrl: () => string;
  #keys: JWTVerifyGetKey | undefined;

  constructor(issuer: TrustedIssuer, serverUrl: () => string) {
    this.#issuer = issuer;
    this.#serverUrl = serverUrl;
  }

  /** Returns the user of a token; undefined if the token is not trusted, or if the issuer's keys cannot be read. */
  async verify(token: string, now: number): Promise<User | undefined> {
    const { url: issuer, subject, usernamePrefix, audiences } = this.#issuer;
    if (parseToken(token)?.claims['iss'] !== issuer) return undefined;
    const expected = { issuer, subject, audience: [...audiences(this.#serverUrl())], currentDate: new Date(now), requiredClaims: ['exp'] };
    try {
      this.#keys ??= createLocalJWKSet(await this.#fetchKeys());
      const { payload } = await jwtVerify(token, this.#keys, { ...expected, algorithms: ALGORITHMS });
      const extra = payload.jti === undefined ? {} : { extra: { 'authentication.kubernetes.io/credential-id': [`JTI=${payload.jti}`] } };
      return { name: `${usernamePrefix}${subject}`, groups: [], ...extra };
    } catch {
      return undefined;
    }
  }

  async #fetchKeys(): Promise<JSONWebKeySet> {
    const { url, ca } = await this.#issuer.discovery();
    const { issuer, jwks_uri: keysUrl } = (await fetchJson(url, ca)) as { readonly issuer?: unknown; readonly jwks_uri?: unknown };
    if (issuer !== this.#issuer.url || typeof keysUrl !== 'string') throw new Error(`${url} is not the discovery document of the issuer`);
    return (await fetchJson(keysUrl, ca)) as JSONWebKeySet;
  }
}

const ALGORITHMS = ['RS256', 'ES256'];
const TIMEOUT_MS = 5_000;

async function fetchJson(url: string, ca: string): Promise<unknown> {
  const request = get(url, { ca, agent: false, signal: AbortSignal.timeout(TIMEOUT_MS) });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const body = await text(response);
  if (response.statusCode !== 200) throw new Error(`${url} returned ${response.statusCode}`);
  return JSON.parse(body);
}
