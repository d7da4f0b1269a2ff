// Counts by cluster. The labels stay few: names that are not registered share one, and a deleted Cluster takes its own along.

import { type Family, labelsText } from './exposition.ts';

/** Value of the label `cluster` for names under which no Cluster is registered: tenants can make up any number of them. */
export const UNREGISTERED = 'unregistered';

export interface ClusterCounterOptions {
  readonly name: string;
  readonly help: string;
  readonly isRegistered: (cluster: string) => boolean;
}

/** A counter with the label `cluster` and others, whose values must come from closed sets. */
export class ClusterCounter implements Family {
  readonly type = 'counter';
  readonly name: string;
  readonly help: string;
  readonly #isRegistered: (cluster: string) => boolean;
  readonly #counts = new Map<string, Map<string, number>>();

  constructor({ name, help, isRegistered }: ClusterCounterOptions) {
    this.name = name;
    this.help = help;
    this.#isRegistered = isRegistered;
  }

  add(cluster: string, labels: Readonly<Record<string, string>>): void {
    const known = this.#isRegistered(cluster) ? cluster : UNREGISTERED;
    const counts = this.#counts.get(known) ?? new Map<string, number>();
    const text = labelsText({ cluster: known, ...labels });
    this.#counts.set(known, counts.set(text, (counts.get(text) ?? 0) + 1));
  }

  *samples(): Generator<string> {
    for (const [cluster, counts] of this.#counts) {
      if (cluster !== UNREGISTERED && !this.#isRegistered(cluster)) this.#counts.delete(cluster);
      else for (const [labels, count] of counts) yield `${this.name}{${labels}} ${count}\n`;
    }
  }
}
