// Informers for the list of ManagedTokens. They keep only the public fields of ManagedTokens, within a memory budget for each namespace.

import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { ManagedTokens, type Stored } from '../../api/resources.ts';
import { BYTES_PER_NAMESPACE, keepWithin, MAX_SMALL_BYTES, type NamespaceBudget } from '../../kube/namespace-bytes.ts';
import type { OnDemandInformers } from '../listwatch/on-demand.ts';
import { createOnDemandInformers, type OnDemandInformersOptions } from '../listwatch/on-demand-informers.ts';
import { MANAGED_TOKEN_LIST } from './managed-token-list.ts';

/** Creates the informers. An informer starts on its first subscription. */
export function createManagedTokenInformers(options: OnDemandInformersOptions): OnDemandInformers<ManagedToken> {
  const { permission } = MANAGED_TOKEN_LIST;
  return createOnDemandInformers({ resource: ManagedTokens, permission, reduce: toListed, budget: LISTED_BUDGET }, options);
}

/** Size as JSON above which a ManagedToken is listed without labels, annotations and condition messages, in bytes. */
const MAX_LISTED_BYTES = 16_384;

/**
 * Budget for the ManagedTokens in each namespace. If a namespace exceeds the budget, its largest ManagedTokens are listed without labels,
 * annotations and condition messages.
 */
const LISTED_BUDGET: NamespaceBudget<ManagedToken> = { bytes: BYTES_PER_NAMESPACE, small: MAX_SMALL_BYTES, toStub };

/** Returns the public fields of a ManagedToken, or its stub if they are too large. */
function toListed(token: Stored<ManagedToken>): Stored<ManagedToken> {
  return keepWithin(MAX_LISTED_BYTES, MANAGED_TOKEN_LIST.toPublic(token) as unknown as Stored<ManagedToken>, toStub);
}

/** Returns a ManagedToken without labels, annotations and condition messages. */
function toStub({ metadata, spec, status, ...type }: Stored<ManagedToken>): Stored<ManagedToken> {
  const { labels: _, ...identity } = metadata;
  const { labels: __, annotations: ___, ...secret } = spec.secret;
  const conditions = status?.conditions?.map((condition) => ({ ...condition, message: '' }));
  return {
    ...type,
    metadata: identity,
    spec: { ...spec, secret },
    ...(status && { status: { ...status, ...(conditions && { conditions }) } }),
  };
}
