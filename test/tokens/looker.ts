// The reconcile of one ManagedToken without its queue: tests decide when it looks, and how much it knows.

import { PROTECTED_NAMESPACES } from '../../src/access/issue-names.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Secret, ServiceAccount } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import type { Clock } from '../../src/std/clock.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { Authority } from '../../src/tokens/authority.ts';
import type { NamespaceBudgets } from '../../src/tokens/budgets.ts';
import type { TokenDeps } from '../../src/tokens/deps.ts';
import { HubView, type TokenInformers } from '../../src/tokens/hub-view.ts';
import { TokenMemory } from '../../src/tokens/memory.ts';
import type { StoredSecret } from '../../src/tokens/policy/observation.ts';
import { createReconcile } from '../../src/tokens/reconcile.ts';
import { reduceSecret } from '../../src/tokens/reduce-secret.ts';
import { RemovalLimits } from '../../src/tokens/removal-limits.ts';
import { wakes } from '../../src/tokens/triggers.ts';
import { withinBudget } from '../../src/tokens/within-budget.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import type { FakeClock } from '../support/clock.ts';
import { aCredential, registered, settings } from '../targets/registration.ts';
import { authority } from '../targets/wire-target.ts';
import { patient } from './patient-clock.ts';
import type { ScriptedHub } from './scripted-hub.ts';

const KEY = 'team-a/ci';

export interface LookerOptions {
  readonly clock: FakeClock;
  readonly hub: ScriptedHub;
  readonly client: KubeClient;
  /** The address of the target. */
  readonly server: string;
  /** Clock of the deadline of each run; real time by default. */
  readonly timers?: Clock;
  /** How often tokens are put to it; never by default. */
  readonly verifyIntervalMs?: number;
  /** Budgets that put reconciles off; none by default. */
  readonly budgets?: NamespaceBudgets;
}

export class Looker {
  /** The keys that the informers would have woken, for each time. */
  readonly woken: string[] = [];
  readonly #tokens = new HandInformer<ManagedToken>();
  readonly #secrets = new HandInformer<StoredSecret & ApiObject>();
  readonly #options: LookerOptions;
  readonly #clients: ClusterClients;
  readonly #memory = new TokenMemory();
  readonly #reconcile: ReturnType<typeof createReconcile>;

  constructor(options: LookerOptions) {
    const { clock, client: hub, server, verifyIntervalMs = 0, timers = patient(clock), budgets } = options;
    this.#options = options;
    this.#clients = new ClusterClients(settings(patient(clock)));
    const informers = { tokens: this.#tokens, secrets: this.#secrets, ...surroundings(server) } as unknown as TokenInformers;
    const view = new HubView(informers);
    const memory = this.#memory;
    wakes(informers, view, memory).subscribe((key) => this.woken.push(key));
    const protectedNamespaces = PROTECTED_NAMESPACES;
    const namespace = 'purser-system';
    const log = createLogger({ level: 'silent', readable: false, write: () => {} });
    const deps: TokenDeps = {
      hub,
      clients: this.#clients,
      clock,
      timers,
      view,
      memory,
      startedAt: clock.now(),
      recorder: { record: () => {} },
      log,
      settings: { verifyIntervalMs, protectedNamespaces, limits: {}, namespace },
      authority: new Authority({ hub, view, memory, protectedNamespaces }),
      removals: new RemovalLimits({ hub, view, memory, clock, log, namespace }),
    };
    this.#reconcile = budgets === undefined ? createReconcile(deps) : withinBudget(deps, budgets);
    this.sync();
  }

  /** Lets the informers know everything. */
  sync(): void {
    const { token, secrets } = this.#options.hub;
    this.#tokens.list(token);
    const labelled = [...secrets.values()].filter(({ metadata }) => metadata.labels?.['tokens.purser.dev/managed-by'] === 'purser');
    this.#secrets.list(...labelled.map((secret) => reduceSecret(secret)));
  }

  /** One look. Returns when the next is due; throws only what is a defect. */
  async look(): Promise<number | undefined> {
    try {
      return (await this.#reconcile(KEY, new AbortController().signal)).requeueAt;
    } catch (error) {
      if (error instanceof IssueError || error instanceof StatusError || error instanceof TransportError) {
        return this.#options.clock.now() + 5_000;
      }
      throw error;
    }
  }

  /** As a change of RBAC does. */
  forgetPermissions(): void {
    this.#memory.of(this.#options.hub.token.metadata.uid ?? '').confirmed = undefined;
  }

  /** Namespace in which the removal limits count the refused token; undefined if they ignore it. */
  get countedIn(): string | undefined {
    return this.#memory.of(this.#options.hub.token.metadata.uid ?? '').countedIn;
  }

  close(): Promise<void> {
    return this.#clients.close();
  }
}

/** A registered Cluster, and a requester. */
function surroundings(server: string) {
  const { cluster, credential } = registered({ servers: [server], ca: authority.certificate });
  return {
    clusters: fed<Cluster>(cluster),
    credentials: [fed<Secret>(credential ?? aCredential({}))],
    requesters: fed<ServiceAccount>({ metadata: { namespace: 'team-a', name: 'default' } }),
    roles: fed<ClusterRole>(),
    bindings: fed<ClusterRoleBinding>(),
  };
}

function fed<T extends ApiObject>(...objects: readonly T[]): HandInformer<T> {
  const informer = new HandInformer<T>();
  informer.changes$.subscribe();
  informer.list(...objects);
  return informer;
}
