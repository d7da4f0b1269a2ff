// Reconciles one ManagedToken without a queue: tests control the reconciles and the objects that informers deliver.

import { PROTECTED_NAMESPACES } from '../../src/access/issue-permission.ts';
import type { Cluster } from '../../src/api/cluster.gen.ts';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import { Label } from '../../src/api/names.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Secret, ServiceAccount } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { TransportError } from '../../src/kube/transport-error.ts';
import { StatusError } from '../../src/kubernetes/status.ts';
import type { Clock } from '../../src/std/clock.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { IssueError } from '../../src/targets/issue-error.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { TokenAuthorizer } from '../../src/tokens/authorizer.ts';
import type { NamespaceBudgets } from '../../src/tokens/budgets.ts';
import { reconcileWithinBudget, tokenTriggers } from '../../src/tokens/controller.ts';
import { HubView, type TokenInformers } from '../../src/tokens/informers.ts';
import type { StoredSecret } from '../../src/tokens/policy/secret.ts';
import { reconcileToken } from '../../src/tokens/reconcile.ts';
import { RecordKey } from '../../src/tokens/record-key.ts';
import { reduceSecret } from '../../src/tokens/reduce.ts';
import { RemovalLimits } from '../../src/tokens/removal-limits.ts';
import type { TokenDeps } from '../../src/tokens/run.ts';
import { TrackedTokens } from '../../src/tokens/tracked-token.ts';
import { Verification } from '../../src/tokens/verification.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import type { FakeClock } from '../support/clock.ts';
import { stored } from '../support/stored.ts';
import { aCredential, registered, settings } from '../targets/registration.ts';
import { authority } from '../targets/wire-target.ts';
import { patient } from './patient-clock.ts';
import type { ScriptedHub } from './scripted-hub.ts';

const KEY = 'team-a/ci';
/** Key that signs digests in the status, the same after a restart. */
export const RECORD_KEY = new RecordKey(Buffer.alloc(32, 1));

export interface ReconcilerOptions {
  readonly clock: FakeClock;
  readonly hub: ScriptedHub;
  readonly client: KubeClient;
  /** Address of the target. */
  readonly server: string;
  /** Clock of the deadline of each run; real time by default. */
  readonly timers?: Clock;
  /** Interval between TokenReviews in milliseconds; 0, the default, disables them. */
  readonly verifyIntervalMs?: number;
  /** Budgets that defer reconciles; none by default. */
  readonly budgets?: NamespaceBudgets;
  /** Key that signs digests in the status; RECORD_KEY by default. */
  readonly recordKey?: RecordKey;
}

export class TestReconciler {
  /** Keys that the triggers emitted. */
  readonly triggered: string[] = [];
  readonly #tokens = new HandInformer<ManagedToken>();
  readonly #secrets = new HandInformer<StoredSecret & ApiObject>();
  readonly #options: ReconcilerOptions;
  readonly #clients: ClusterClients;
  readonly #memory = new TrackedTokens();
  readonly #deps: TokenDeps;
  readonly #clusters: HandInformer<Cluster>;
  readonly #rbac = { roles: informerWith<ClusterRole>(), bindings: informerWith<ClusterRoleBinding>() };

  constructor(options: ReconcilerOptions) {
    const { clock, client: hub, server, verifyIntervalMs = 0, timers = patient(clock), recordKey = RECORD_KEY } = options;
    this.#options = options;
    this.#clients = new ClusterClients(settings(patient(clock)));
    const others = surroundings(server);
    this.#clusters = others.clusters;
    const informers = { tokens: this.#tokens, secrets: this.#secrets, ...others, ...this.#rbac } as unknown as TokenInformers;
    const view = new HubView(informers);
    const memory = this.#memory;
    tokenTriggers(informers, view, memory).subscribe((key) => this.triggered.push(key));
    const protectedNamespaces = PROTECTED_NAMESPACES;
    const namespace = 'purser-system';
    const log = createLogger({ level: 'silent', readable: false, write: () => {} });
    this.#deps = {
      hub,
      clients: this.#clients,
      clock,
      timers,
      view,
      memory,
      startedAt: clock.now(),
      recorder: { record: () => {} },
      log,
      auditLog: log,
      settings: { verifyIntervalMs, protectedNamespaces, limits: {}, namespace },
      authorizer: new TokenAuthorizer({ hub, view, memory, clock, protectedNamespaces }),
      recordKey,
      verification: new Verification({ clock, random: () => 0, view, intervalMs: verifyIntervalMs }),
      removals: new RemovalLimits({ hub, view, memory, recordKey, clock, log, namespace }),
    };
    this.sync();
  }

  /** Delivers all objects of the hub to the informers. */
  sync(): void {
    const { token, secrets } = this.#options.hub;
    this.#tokens.list(token);
    const labeled = [...secrets.values()].filter(({ metadata }) => metadata.labels?.['tokens.purser.dev/managed-by'] === 'purser');
    this.#secrets.list(...labeled.map((secret) => reduceSecret(stored(secret))));
  }

  /** Reconciles once. Returns the time of the next reconcile; throws defects only. */
  async reconcile(): Promise<number | undefined> {
    try {
      const { budgets } = this.#options;
      const { signal } = new AbortController();
      const reconcile = budgets === undefined ? reconcileToken : reconcileWithinBudget.bind(undefined, budgets);
      return (await reconcile(this.#deps, KEY, signal)).requeueAt;
    } catch (error) {
      if (error instanceof IssueError || error instanceof StatusError || error instanceof TransportError) {
        return this.#options.clock.now() + 5_000;
      }
      throw error;
    }
  }

  /** Delivers to the informers a role and a binding that allow the token. */
  grantPermission(): void {
    const { namespace } = this.#options.hub.token.metadata;
    const rules = [{ apiGroups: ['registry.purser.dev'], resources: ['clusters/token'], verbs: ['issue'] }];
    this.#rbac.roles.list({ metadata: { name: 'issuer' }, rules });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'issuer' };
    const subjects = [{ kind: 'ServiceAccount', namespace, name: 'default' }];
    this.#rbac.bindings.list({ metadata: { name: 'issuer' }, roleRef, subjects });
  }

  /** Delivers the Cluster with the label of a set to the informers. */
  labelCluster(set: string): void {
    const [cluster] = this.#clusters.store.list();
    if (cluster === undefined) throw new Error('no Cluster');
    const resourceVersion = `${cluster.metadata.resourceVersion}0`;
    this.#clusters.list({ ...cluster, metadata: { ...cluster.metadata, resourceVersion, labels: { [Label.clusterSet]: set } } });
  }

  /** Delivers to the informers that the binding of `grantPermission` was deleted. */
  withdrawPermission(): void {
    this.#rbac.bindings.list();
  }

  /** Forgets the permission, as after a change to RBAC. */
  forgetPermissions(): void {
    this.#memory.of(this.#options.hub.token.metadata.uid ?? '').recordRbacChange();
  }

  /** True if the removal limits treat the refusal as caused by the tenant. */
  get isSelfCaused(): boolean {
    return this.#memory.of(this.#options.hub.token.metadata.uid ?? '').isSelfCaused;
  }

  /** Namespace for which the removal limits count the refused token; undefined if they ignore it. */
  get countedIn(): string | undefined {
    return this.#memory.of(this.#options.hub.token.metadata.uid ?? '').countedIn;
  }

  close(): Promise<void> {
    return this.#clients.close();
  }
}

/** Returns a registered Cluster and two requesters. */
function surroundings(server: string) {
  const { cluster, credential } = registered({ servers: [server], ca: authority.certificate });
  return {
    clusters: informerWith<Cluster>(cluster),
    credentials: [informerWith<Secret>(credential ?? aCredential({}))],
    requesters: informerWith<ServiceAccount>(...['default', 'other'].map((name) => ({ metadata: { namespace: 'team-a', name } }))),
  };
}

function informerWith<T extends ApiObject>(...objects: readonly T[]): HandInformer<T> {
  const informer = new HandInformer<T>();
  informer.changes$.subscribe();
  informer.list(...objects);
  return informer;
}
