// The namespaces that are over a budget. The labels stay few, however many namespaces tenants own.

import { type Family, sample } from './exposition.ts';

/** Resource of which each namespace has a share. */
export type Budget = 'reviews' | 'dials' | 'slots' | 'bytes';

/** A namespace and the budget that it exceeds. */
export type Excess = readonly [namespace: string, budget: Budget];

/** Returns the gauge of what `over` yields when it is read. */
export function budgetGauge(over: () => Iterable<Excess>): Family {
  return {
    name: NAME,
    help: 'Namespaces that exceed their share of a resource: 1 for each; further ones together as other.',
    type: 'gauge',
    *samples() {
      const namespaces = new Map<Budget, string[]>();
      for (const [namespace, budget] of over()) namespaces.set(budget, [...(namespaces.get(budget) ?? []), namespace]);
      for (const [budget, names] of namespaces) {
        for (const namespace of names.slice(0, MAX_NAMED)) yield sample(NAME, { namespace, budget }, 1);
        if (names.length > MAX_NAMED) yield sample(NAME, { namespace: 'other', budget }, 1);
      }
    },
  };
}

const NAME = 'purser_namespace_over_budget';
/** Per budget. */
const MAX_NAMED = 20;
