// A token that a target granted, with what is known of it by our own clock.

import type { Sensitive } from '../../std/sensitive.ts';
import type { TokenClaims } from './token-claims.ts';

export interface Grant {
  readonly token: Sensitive<string>;
  /** When the request left, by our clock. */
  readonly issuedAt: number;
  /** `issuedAt` and the granted lifetime: by our clock, too. */
  readonly expiresAt: number;
  /** Absent when the token is opaque. */
  readonly claims?: TokenClaims;
}
