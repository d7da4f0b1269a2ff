// Recognizes tokens for service accounts by the hub's signature. Any client can invent other tokens, from any number of addresses: a flood
// of them must not keep out callers with tokens that the hub has signed. Only a TokenReview decides whether a token is valid.

import type { KeyObject } from 'node:crypto';
import type { KubeClient } from '../kube/client.ts';
import { isSignedBy, KEY_SET_PATH, parseKeySet } from '../kubernetes/signing-keys.ts';
import type { Clock } from '../std/clock.ts';
import { tokenClaims } from '../targets/policy/token-claims.ts';
import { serviceAccountNamespace } from '../targets/policy/token-request.ts';

export interface SignedTokensOptions {
  readonly hub: Pick<KubeClient, 'getText'>;
  readonly clock: Clock;
}

/** Minimum time between two requests for the keys of the hub, in milliseconds. */
const REFRESH_MS = 60_000;

export class SignedTokens {
  readonly #options: SignedTokensOptions;
  #keys: readonly KeyObject[] = [];
  #requestedAt = Number.NEGATIVE_INFINITY;

  constructor(options: SignedTokensOptions) {
    this.#options = options;
  }

  /** Returns the user of a signed token before its expiry; undefined for any other token, and until the first keys have arrived. */
  userOf(token: string): string | undefined {
    this.#refresh();
    const { subject = '', expiresAt = Infinity } = tokenClaims(token) ?? {};
    if (serviceAccountNamespace(subject) === undefined || expiresAt <= this.#options.clock.now()) return undefined;
    return this.#keys.some((key) => isSignedBy(token, key)) ? subject : undefined;
  }

  #refresh(): void {
    const { hub, clock } = this.#options;
    const now = clock.monotonic();
    if (now - this.#requestedAt < REFRESH_MS) return;
    this.#requestedAt = now;
    const use = (text: string) => {
      this.#keys = parseKeySet(text) ?? [];
    };
    // Without keys, the limits on unknown tokens apply.
    hub.getText(KEY_SET_PATH).then(use, () => {});
  }
}
