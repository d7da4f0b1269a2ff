// Waits until an API server serves the required kinds, according to its discovery documents.

import type { Resource } from '../api/resources.ts';
import { apiVersionOf } from '../kubernetes/object.ts';
import { hasReason } from '../kubernetes/status.ts';
import { retryUntilDone } from '../std/backoff.ts';
import type { Clock } from '../std/clock.ts';
import type { KubeClient } from './client.ts';

export interface ServedOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Called with the kinds that are not served, after every check that finds any. */
  onMissing?(missing: readonly Resource<unknown>[]): void;
  /** Called with the error of every failed check. */
  onProblem?(error: unknown): void;
}

/** Resolves once all `resources` are served. Rejects only if `signal` aborts. */
export async function waitUntilServed(
  client: Pick<KubeClient, 'getText'>,
  resources: readonly Resource<unknown>[],
  { clock, random, signal, ...callbacks }: ServedOptions,
): Promise<void> {
  const check = async () => {
    const missing = await findMissing(client, resources, signal);
    if (missing.length === 0) return true;
    callbacks.onMissing?.(missing);
    return undefined;
  };
  await retryUntilDone(check, { clock, random, signal, onFailure: (error) => callbacks.onProblem?.(error) });
}

async function findMissing(
  client: Pick<KubeClient, 'getText'>,
  resources: readonly Resource<unknown>[],
  signal: AbortSignal,
): Promise<readonly Resource<unknown>[]> {
  const served = await Promise.all(resources.map((resource) => isServed(client, resource, signal)));
  return resources.filter((_, index) => served[index] !== true);
}

async function isServed(client: Pick<KubeClient, 'getText'>, resource: Resource<unknown>, signal: AbortSignal): Promise<boolean> {
  const root = resource.group === '' ? '/api' : '/apis';
  try {
    const list: ResourceList = JSON.parse(await client.getText(`${root}/${apiVersionOf(resource)}`, { signal }));
    return list.resources?.some(({ name }) => name === resource.plural) ?? false;
  } catch (error) {
    if (hasReason(error, 'NotFound')) return false;
    throw error;
  }
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}
