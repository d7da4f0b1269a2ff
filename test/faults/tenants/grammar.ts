// The grammar of hostile actions: a tenant draws requests from productions. The same seed draws the same requests.

import { pick } from '../random.ts';

/** One request of a hostile tenant. */
export interface Action {
  /** Name of the production and of the object; never a token. */
  readonly what: string;
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  /** Content type of the body; JSON by default. */
  readonly type?: string;
  /** Headers beside the usual ones. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether the bearer is a token that the tenant got earlier. */
  readonly isReplay?: boolean;
}

/** Addresses and CAs that the tenants know. */
export interface Scene {
  readonly hostile: Address;
  readonly one: Address;
  readonly two: Address;
  readonly hub: Address;
}

export interface Address {
  readonly url: string;
  /** PEM. */
  readonly ca: string;
}

/** Returns the requests of one action, which are sent one after the other. */
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

  /** Returns an integer from `least` to `most`, both included. */
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
