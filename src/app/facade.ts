// The façade, which every replica serves.

import { Subscription } from 'rxjs';
import type { CertificateSource } from '../facade/certificate.ts';
import { createFacade } from '../facade/facade.ts';
import { watchLimits } from '../facade/limits/concurrency.ts';
import type { ReviewLimit } from '../facade/limits/review-limit.ts';
import { createLists, LISTS, type ListOnDemand, onDemand } from '../facade/lists.ts';
import { createManagedTokenInformers } from '../facade/managed-tokens/informers.ts';
import { MANAGED_TOKEN_LIST } from '../facade/managed-tokens/managed-token-list.ts';
import type { KubeClient } from '../kube/client.ts';
import { type Component, STOP_MS } from '../runtime/lifecycle.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { Registry } from '../targets/registry.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { TokenInformers } from '../tokens/informers.ts';
import { untilFound } from './certificate.ts';
import { logProblem } from './hub.ts';
import type { AppOptions } from './options.ts';

export interface FacadeParts {
  readonly hub: KubeClient;
  readonly clients: ClusterClients;
  readonly informers: FacadeInformers;
  readonly metrics: Metrics;
  readonly certificate: CertificateSource;
  readonly reviewLimit: ReviewLimit;
  readonly onListening: (url: string) => void;
}

/** Informers that the façade needs: those of its lists, of credentials and of RBAC. */
type FacadeInformers = Pick<TokenInformers, keyof typeof LISTS | 'credentials' | 'roles' | 'bindings'>;

/** Returns the informers of a process without controllers. */
export function facadeInformers(informers: TokenInformers): FacadeInformers {
  const { credentials, roles, bindings } = informers;
  const listed = (Object.keys(LISTS) as readonly (keyof typeof LISTS)[]).map((name) => [name, informers[name]] as const);
  return { ...(Object.fromEntries(listed) as Pick<TokenInformers, keyof typeof LISTS>), credentials, roles, bindings };
}

/** Returns the list of ManagedTokens. A façade without a controller has no other use for them and for the permissions of namespaces. */
function managedTokens({ clock, random, log, settings: { namespaces } }: AppOptions, client: KubeClient): ListOnDemand {
  const onOverBudget = (namespace: string, resource: string) =>
    log.warn({ namespace, resource, remedy: BUDGET_REMEDY }, 'namespace exceeds its budget for the list of ManagedTokens');
  return onDemand(MANAGED_TOKEN_LIST, {
    createInformers: () => createManagedTokenInformers({ client, clock, random, namespaces, onOverBudget }),
    onProblem: (problem) => logProblem(log, problem, LIST_REMEDY),
  });
}

const LIST_REMEDY =
  'let Purser list and watch managedtokens, roles and rolebindings, as the ClusterRole purser-facade-tokens in deploy/base/access.yaml does';

const BUDGET_REMEDY =
  'split or delete the largest of these objects; the budgets and effects are under "Limits of the façade" in docs/operating.md';

/** Creates the components of the façade; they start after the caches are synced. */
export function facade(
  options: AppOptions,
  { hub, clients, informers, metrics, certificate, reviewLimit, onListening }: FacadeParts,
): readonly Component[] {
  const { clock, random, log, settings } = options;
  const { registered } = new Registry(informers);
  const { roles, bindings } = informers;
  const lists = createLists({
    lists: LISTS,
    informers,
    listsOnDemand: [managedTokens(options, hub)],
    roles,
    bindings,
    hub,
    clock,
    random,
    log,
    annotationPrefixes: settings.facadeAnnotations,
    watchLimits: watchLimits(settings.memoryBytes),
  });
  metrics.observeWatches(() => lists.watching());
  const served = createFacade({ hub, clients, registered, clock, log, settings, metrics, lists, certificate, reviewLimit });
  const following = new Subscription();
  const graceMs = settings.drainMs / 4;
  const start = async () => {
    following.add(lists.run());
    onListening(await served.listen());
  };
  const stop = async () => {
    await served.close(graceMs);
    following.unsubscribe();
  };
  return [
    {
      name: 'certificate',
      check: 'certificate',
      start: (signal) => untilFound(certificate, clock, signal),
      stop: async () => {},
    },
    { name: 'façade', check: 'facade', start, stop, stopMs: graceMs + STOP_MS },
  ];
}
