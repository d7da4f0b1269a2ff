// A list whose informers run only while callers use it, so that an unused list needs no memory and sends no requests to the hub.

import { combineLatest, merge, Subscription } from 'rxjs';
import type { ApiObject, Role, RoleBinding } from '../../api/resources.ts';
import type { Informer, ListWatchProblem } from '../../kube/informer.ts';
import { hasReason, type StatusError, serviceUnavailable } from '../../kubernetes/status.ts';
import type { Endpoint } from '../request.ts';
import type { Listing } from './filtered-list.ts';
import { notListedYet } from './history.ts';
import { createListEndpoints, createListRoutes, type ListEndpoints, type ListEndpointsOptions } from './list-endpoints.ts';

/** Informers of the objects of a namespaced kind, and of the Roles and RoleBindings that grant permissions on them. */
export interface OnDemandInformers<T extends ApiObject> {
  readonly objects: Informer<T>;
  readonly roles: Informer<Role>;
  readonly bindings: Informer<RoleBinding>;
}

export interface OnDemandOptions<T extends ApiObject> extends Omit<ListEndpointsOptions<T>, 'objects' | 'inNamespaces'> {
  /** Creates informers that have not started. */
  readonly createInformers: () => OnDemandInformers<T>;
  /** Called for each failure of the informers. */
  readonly onProblem: (problem: ListWatchProblem) => void;
}

/** Time without requests and watches before the informers stop, in milliseconds. */
const MAX_IDLE_MS = 600_000;
/** Maximum time that a request waits for the first list of the hub, in milliseconds. */
const WAIT_MS = 5_000;
/** Maximum age of the last event of an informer, in milliseconds. The hub sends a bookmark about every minute. */
const MAX_EVENT_AGE_MS = 300_000;
/** Delay before clients retry if the hub forbids an informer, and before stopped informers start again, in seconds. */
const FORBIDDEN_RETRY_S = 30;

/**
 * Creates the endpoints of a list. The first request starts the informers, and with them a period that ends after ten minutes without use.
 * The period and its watches also end if, after the first list, the hub forbids an informer or sends an informer no event for five minutes:
 * otherwise, withdrawn permissions would stay in effect.
 */
export function createOnDemandList<T extends ApiObject>(options: OnDemandOptions<T>): ListEndpoints {
  const { list: listing, clock } = options;
  let period: Period<T> | undefined;
  let cancelCheck = () => {};
  let forbiddenUntil = Number.NEGATIVE_INFINITY;

  const stop = () => {
    cancelCheck();
    period?.stop();
    period = undefined;
  };
  const onForbidden = () => {
    forbiddenUntil = clock.monotonic() + FORBIDDEN_RETRY_S * 1_000;
    stop();
  };
  const stopIfOver = (current: Period<T>) => {
    const { remainingMs } = current;
    if (remainingMs <= 0) stop();
    else cancelCheck = clock.wakeAfter(Math.min(remainingMs, MAX_EVENT_AGE_MS), () => stopIfOver(current));
  };
  const start = () => {
    const started = new Period(options, onForbidden);
    stopIfOver(started);
    return started;
  };
  const createEndpoint =
    (endpoint: 'list' | 'get'): Endpoint =>
    async (request) => {
      if (clock.monotonic() < forbiddenUntil) throw forbiddenByHub(listing);
      period ??= start();
      const current = period;
      await current.waitUntilSynced(request.signal);
      return current.listWatch[endpoint](request);
    };
  const [list, get] = [createEndpoint('list'), createEndpoint('get')];
  return {
    list,
    get,
    routes: createListRoutes(listing, { list, get }),
    countWatches: () => period?.listWatch.countWatches() ?? 0,
    run: () => new Subscription(stop),
  };
}

type ListSource = Pick<Informer<ApiObject>, 'batches$' | 'synced$' | 'problems$'>;
/** An informer for all namespaces, or one informer for each of several namespaces. */
type InformerGroup = ListSource & { readonly parts?: readonly ListSource[] };

/** A period during which the informers of a list run. Each period has its own log. */
class Period<T extends ApiObject> {
  readonly listWatch: ListEndpoints;
  readonly #options: OnDemandOptions<T>;
  readonly #running = new Subscription();
  readonly #waiting = new Set<() => void>();
  #isSynced = false;
  #isForbidden = false;
  #usedAt: number;
  /** Time of the last event from the hub, by informer, on the monotonic clock. An informer without an event is absent. */
  readonly #eventAt = new Map<object, number>();
  readonly #onForbidden: () => void;

  /** Calls `onForbidden` if the hub forbids an informer after all of them have been synced. */
  constructor(options: OnDemandOptions<T>, onForbidden: () => void) {
    this.#onForbidden = onForbidden;
    this.#options = options;
    this.#usedAt = options.clock.monotonic();
    const { objects, roles, bindings } = options.createInformers();
    this.listWatch = createListEndpoints({ ...options, objects, inNamespaces: { roles, bindings } });
    const informers: readonly ListSource[] = [objects, roles, bindings].flatMap((each: InformerGroup) => each.parts ?? [each]);
    this.#running.add(merge(...informers.map(({ problems$ }) => problems$)).subscribe((problem) => this.#onProblem(problem)));
    this.#running.add(combineLatest(informers.map(({ synced$ }) => synced$)).subscribe((each) => each.every(Boolean) && this.#onSynced()));
    this.#running.add(this.listWatch.run());
    for (const informer of informers)
      this.#running.add(informer.batches$.subscribe(() => this.#eventAt.set(informer, options.clock.monotonic())));
  }

  /** Time until the period ends if no request and no event from the hub arrive, in milliseconds; 0 or less for a period that is over. */
  get remainingMs(): number {
    const now = this.#options.clock.monotonic();
    if (this.listWatch.countWatches() > 0) this.#usedAt = now;
    return Math.min(this.#usedAt + MAX_IDLE_MS, ...this.#eventAt.values().map((at) => at + MAX_EVENT_AGE_MS)) - now;
  }

  /**
   * Waits for the first list of the objects and of the permissions on them. Throws 503 if the hub forbids the list, or the list does not
   * arrive in time.
   */
  async waitUntilSynced(signal: AbortSignal): Promise<void> {
    const { clock, list } = this.#options;
    this.#usedAt = clock.monotonic();
    if (!this.#isSynced && !this.#isForbidden) await this.#waitForState(signal);
    if (!this.#isSynced) throw this.#isForbidden ? forbiddenByHub(list) : notListedYet(list.plural);
  }

  stop(): void {
    this.#running.unsubscribe();
  }

  async #waitForState(signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = this.#options.clock.wakeAfter(WAIT_MS, resolve);
    const onAbort = () => resolve();
    signal.addEventListener('abort', onAbort);
    this.#waiting.add(resolve);
    await promise;
    this.#waiting.delete(resolve);
    signal.removeEventListener('abort', onAbort);
    cancel();
  }

  #onSynced(): void {
    this.#isSynced = true;
    this.#wake();
  }

  #onProblem(problem: ListWatchProblem): void {
    this.#options.onProblem(problem);
    if (!hasReason(problem.error, 'Forbidden')) return;
    this.#isForbidden = true;
    if (this.#isSynced) this.#onForbidden();
    else this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }
}

/** Returns the error for a list whose informers the hub forbids. Only the log names the ClusterRole that grants the missing permission. */
function forbiddenByHub({ plural }: Listing): StatusError {
  const cause = `Purser lacks a permission on the hub to list or watch ${plural}, roles or rolebindings.`;
  const remedy = 'Ask an administrator to grant Purser the permission that its log names.';
  return serviceUnavailable(`${cause} ${remedy}`, FORBIDDEN_RETRY_S);
}
