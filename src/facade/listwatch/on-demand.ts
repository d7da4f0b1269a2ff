// A list whose objects are followed only while callers use it, so that an unused list takes no memory and sends no requests to the hub.

import { combineLatest, merge, Subscription } from 'rxjs';
import type { ApiObject, Role, RoleBinding } from '../../api/resources.ts';
import type { Informer, Problem } from '../../kube/informer.ts';
import { hasReason, type StatusError, serviceUnavailable } from '../../kubernetes/status.ts';
import type { Endpoint } from '../request.ts';
import type { Listing } from './filtered-list.ts';
import { createListWatch, type ListWatch, type ListWatchOptions, listRoutes } from './list-watch.ts';

/** Informers of the objects of a namespaced kind, and of the permissions on them that namespaces grant. */
export interface OnDemandInformers<T extends ApiObject> {
  readonly objects: Informer<T>;
  readonly roles: Informer<Role>;
  readonly bindings: Informer<RoleBinding>;
}

export interface OnDemandOptions<T extends ApiObject> extends Omit<ListWatchOptions<T>, 'objects' | 'inNamespaces'> {
  /** Creates informers that have not started. */
  readonly createInformers: () => OnDemandInformers<T>;
  /** Called for each failure of the informers. */
  readonly onProblem: (problem: Problem) => void;
}

/** Time without requests and watches after which the objects are no longer followed, in milliseconds. */
const IDLE_MS = 600_000;
/** Maximum time for which a request waits for the first list of the hub, in milliseconds. */
const WAIT_MS = 5_000;
/** Time after which clients retry if the hub rejects the informers, in seconds. */
const FORBIDDEN_RETRY_S = 30;

/** Creates the endpoints of a list. The first request starts to follow the hub; callers cannot resume watches of an earlier period. */
export function createOnDemandList<T extends ApiObject>(options: OnDemandOptions<T>): ListWatch {
  const { list: listing, clock } = options;
  let period: Period<T> | undefined;
  let cancelIdle = () => {};

  const stop = () => {
    cancelIdle();
    period?.stop();
    period = undefined;
  };
  const stopIfIdle = () => {
    const idleMs = period?.idleMs ?? 0;
    if (idleMs >= IDLE_MS) stop();
    else cancelIdle = clock.wakeAfter(IDLE_MS - idleMs, stopIfIdle);
  };
  const start = () => {
    cancelIdle = clock.wakeAfter(IDLE_MS, stopIfIdle);
    return new Period(options);
  };
  const whileFollowed =
    (endpoint: 'list' | 'get'): Endpoint =>
    async (request) => {
      period ??= start();
      const current = period;
      await current.untilSynced(request.signal);
      return current.listWatch[endpoint](request);
    };
  const [list, get] = [whileFollowed('list'), whileFollowed('get')];
  return {
    list,
    get,
    routes: listRoutes(listing, { list, get }),
    watching: () => period?.listWatch.watching() ?? 0,
    run: () => new Subscription(stop),
  };
}

/** A time during which a list is followed, with its own log. */
class Period<T extends ApiObject> {
  readonly listWatch: ListWatch;
  readonly #options: OnDemandOptions<T>;
  readonly #running = new Subscription();
  readonly #waiting = new Set<() => void>();
  #isSynced = false;
  #isForbidden = false;
  #usedAt: number;

  constructor(options: OnDemandOptions<T>) {
    this.#options = options;
    this.#usedAt = options.clock.monotonic();
    const { objects, roles, bindings } = options.createInformers();
    this.listWatch = createListWatch({ ...options, objects, inNamespaces: { roles, bindings } });
    const informers: readonly Pick<Informer<ApiObject>, 'synced$' | 'problems$'>[] = [objects, roles, bindings];
    this.#running.add(merge(...informers.map(({ problems$ }) => problems$)).subscribe((problem) => this.#onProblem(problem)));
    this.#running.add(combineLatest(informers.map(({ synced$ }) => synced$)).subscribe((each) => each.every(Boolean) && this.#onSynced()));
    this.#running.add(this.listWatch.run());
  }

  /** Time since the last request or open watch, in milliseconds. */
  get idleMs(): number {
    const now = this.#options.clock.monotonic();
    if (this.listWatch.watching() > 0) this.#usedAt = now;
    return now - this.#usedAt;
  }

  /** Waits for the first list of the objects and of the permissions on them. Throws 503 if it does not arrive in time. */
  async untilSynced(signal: AbortSignal): Promise<void> {
    const { clock, list } = this.#options;
    this.#usedAt = clock.monotonic();
    if (!this.#isSynced && !this.#isForbidden) await this.#nextState(signal);
    if (!this.#isSynced) throw notFollowed(list, this.#isForbidden);
  }

  stop(): void {
    this.#running.unsubscribe();
  }

  async #nextState(signal: AbortSignal): Promise<void> {
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

  #onProblem(problem: Problem): void {
    this.#options.onProblem(problem);
    if (!hasReason(problem.error, 'Forbidden')) return;
    this.#isForbidden = true;
    this.#wake();
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
  }
}

/** Returns the error of a list that is not followed. Only the log names the permission that Purser needs. */
function notFollowed({ plural }: Listing, isForbidden: boolean): StatusError {
  if (!isForbidden) return serviceUnavailable(`the ${plural} of the hub have not been listed yet`, 1);
  const text = `Purser has no permission on the hub to list ${plural}, roles and rolebindings; the log of Purser has the details`;
  return serviceUnavailable(text, FORBIDDEN_RETRY_S);
}
