// Whether an API server serves the kinds that we need. Asks discovery, which everybody may read.

import type { Resource } from '../api/resources.ts';
import { hasReason } from '../kubernetes/status.ts';
import type { Clock } from '../std/clock.ts';
import { retried } from '../std/retried.ts';
import type { KubeClient } from './client.ts';
import { apiVersionOf } from './paths.ts';

export interface ServedOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Told of every look that found kinds missing. */
  onMissing?(missing: readonly Resource<unknown>[]): void;
  /** Told of every look that failed. */
  onProblem?(error: unknown): void;
}

/** Resolves once all of `resources` are served, however long that takes. Rejects only when it is aborted. */
export async function untilServed(
  client: Pick<KubeClient, 'getText'>,
  resources: readonly Resource<unknown>[],
  { clock, random, signal, ...told }: ServedOptions,
): Promise<void> {
  const look = async () => {
    const missing = await missingOf(client, resources, signal);
    if (missing.length === 0) return true;
    told.onMissing?.(missing);
    return undefined;
  };
  await retried(look, { clock, random, signal, onFailure: (error) => told.onProblem?.(error) });
}

async function missingOf(
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
