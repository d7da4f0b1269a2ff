// The credential that requests to a target use: as stored on the hub, or tokens that the hub issues for each address.

import type { BearerTokens } from '../kube/credentials.ts';
import type { Sensitive } from '../std/sensitive.ts';
import type { StoredCredential } from './credential.ts';
import type { IssueError } from './issue-error.ts';

/** Times of a token issued by the hub, by Purser's clock, in milliseconds since the epoch. */
export interface HubTokenTimes {
  readonly issuedAt: number;
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** The token for a service account on the hub for one address of a target. */
export interface AddressToken extends BearerTokens {
  readonly audience: string;
  /** Issuer of the token in use; undefined if unknown. */
  readonly issuer: string | undefined;
  /** Times of the last token, even after its expiry; undefined before the first request. */
  readonly times: HubTokenTimes | undefined;
  /** Failure of the last request to the hub; undefined after a success. */
  readonly failure: IssueError | undefined;
}

/** Purser's credential on a target. */
export type TargetCredential =
  | StoredCredential
  /** Tokens of the hub by address, in the spelling of `serverUrl`. */
  | { readonly type: 'serviceAccount'; readonly tokens: ReadonlyMap<string, AddressToken> };

/** Returns the token that is sent to an address; undefined for a client certificate, and before the hub issued a token. */
export function tokenFor(credential: TargetCredential | undefined, server: string): Sensitive<string> | undefined {
  if (credential?.type === 'token') return credential.token;
  return credential?.type === 'serviceAccount' ? credential.tokens.get(server)?.current : undefined;
}

/** Returns all bearer tokens of a credential, to redact them. */
export function secretsOf(credential: TargetCredential | undefined): readonly string[] {
  if (credential?.type === 'token') return [credential.token.reveal()];
  if (credential?.type !== 'serviceAccount') return [];
  return [...credential.tokens.values()].flatMap(({ current }) => current?.reveal() ?? []);
}
