// Grammar of hostile actions: a tenant draws requests from productions. The same seed draws the same requests.

import { pick } from '../../support/random.ts';

/** Request of a hostile tenant. */
export interface Action {
  /** Production and object of the request; never a token. */
  readonly label: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Content type of the body; default: JSON. */
  readonly type?: string;
  /** Additional headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** True if the bearer is a token that the tenant obtained. */
  readonly isReplay?: boolean;
}

/** Addresses and CAs that tenants know. */
export interface Scene {
  readonly hostile: Address;
  readonly one: Address;
  readonly two: Address;
  readonly hub: Address;
}

export interface Address {
  readonly url: string;
  /** CA certificate, as PEM. */
  readonly ca: string;
}

/** Returns the requests of one action, which are sent in order. */
export type Production = (draw: Draw, scene: Scene) => readonly Action[];

/** Productions with their weights. */
export type Grammar = readonly (readonly [weight: number, production: Production])[];

/** Random choices of a tenant. */
export class Draw {
  readonly random: () => number;

  constructor(random: () => number) {
    this.random = random;
  }

  pick<T>(choices: readonly T[]): T {
    return pick(this.random, choices);
  }

  chance(probability: number): boolean {
    return this.random() < probability;
  }

  /** Returns an integer from `least` to `most`, inclusive. */
  between(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  /** Draws the requests of one production. */
  actions(grammar: Grammar, scene: Scene): readonly Action[] {
    const total = grammar.reduce((sum, [weight]) => sum + weight, 0);
    let left = this.random() * total;
    const drawn = grammar.find(([weight]) => (left -= weight) < 0) ?? grammar[0];
    return drawn?.[1](this, scene) ?? [];
  }
}

export const MERGE = 'application/merge-patch+json';
