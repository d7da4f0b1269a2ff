// The lists that `purser ui` reads for the page: Clusters and ManagedTokens from the façade, and Clusters also from the hub.

import { Clusters } from '../../api/resources.ts';
import { collectionPath } from '../../kube/paths.ts';
import type { StreamResult } from '../../kube/transport.ts';
import type { FacadeClient } from '../facade/client.ts';

/** Paths of the façade's lists; the page uses the same paths. */
const LISTS: ReadonlySet<string> = new Set(['/auth/v1/clusters', '/auth/v1/managedtokens']);
/** Path at which the page requests the Cluster objects on the hub. */
const HUB_CLUSTERS = '/hub/clusters';
/** Query parameters that are forwarded. */
const PARAMETERS = ['limit', 'continue', 'watch', 'allowWatchBookmarks', 'resourceVersion'] as const;

export class Upstream implements AsyncDisposable {
  readonly #open: () => Promise<FacadeClient>;
  #facade: Promise<FacadeClient>;

  /** `open` reads the caller's credential and connects to the façade. Called again after the façade or the hub has rejected a token. */
  constructor(open: () => Promise<FacadeClient>) {
    this.#open = open;
    this.#facade = open();
  }

  /** Waits until `open` has found the façade. Throws the error of `open`. */
  async connect(): Promise<void> {
    await this.#facade;
  }

  /** Returns the response for a path that the page requests; undefined if the path is unknown. */
  async read(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<StreamResult | undefined> {
    const known = Object.fromEntries(PARAMETERS.flatMap((name) => (query[name] === undefined ? [] : [[name, query[name]]])));
    if (path !== HUB_CLUSTERS && !LISTS.has(path)) return undefined;
    const send = (facade: FacadeClient) =>
      path === HUB_CLUSTERS ? facade.readHub(collectionPath(Clusters), known, signal) : facade.read(path, known, signal);
    const facade = await this.#facade;
    const result = await send(facade);
    if (result.type === 'stream' || result.response.status !== 401) return result;
    return await send(await this.#renew(facade));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#facade.catch(() => undefined))?.[Symbol.asyncDispose]();
  }

  /** Calls `open` again, once for all requests whose token was rejected. */
  async #renew(rejected: FacadeClient): Promise<FacadeClient> {
    if ((await this.#facade) === rejected) {
      const renewed = this.#open();
      this.#facade = renewed.catch(() => rejected);
      const facade = await renewed;
      await rejected[Symbol.asyncDispose]();
      return facade;
    }
    return await this.#facade;
  }
}
