// Encodes the view of the page in the URL fragment, so that users can bookmark it, share it, and return to it with the back button.

import { ORDERS, type Order } from './filters.ts';
import { CLUSTER_STATES, type ClusterState, TOKEN_STATES, type TokenState } from './states.ts';
import { ZOOM_NAMES, type Zoom } from './timeline.ts';

export const VIEWS = ['overview', 'tokens', 'clusters'] as const;
export type View = (typeof VIEWS)[number];

/** An object whose details are shown. */
export interface OpenedObject {
  readonly kind: 'token' | 'cluster';
  /** Namespace and name of a ManagedToken, separated by a slash, or name of a Cluster; empty if the address has no valid key. */
  readonly key: string;
}

/** View, filters and opened object that the address contains. */
export interface Address {
  readonly view: View;
  readonly query: string;
  readonly tokenState: TokenState | undefined;
  readonly clusterState: ClusterState | undefined;
  readonly zoom: Zoom;
  readonly order: Order;
  readonly opened: OpenedObject | undefined;
}

export const START: Address = {
  view: 'overview',
  query: '',
  tokenState: undefined,
  clusterState: undefined,
  zoom: '6h',
  order: 'name',
  opened: undefined,
};

/** Maximum length of a query, in characters. */
const MAX_QUERY = 512;

/** Parses the part of an address after the `#`. Unknown views and values are replaced with the initial ones. */
export function parseAddress(hash: string): Address {
  const [path = '', search = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
  const parameters = new URLSearchParams(search);
  const view = findOneOf(VIEWS, path) ?? START.view;
  const state = parameters.get('state');
  return {
    view,
    query: (parameters.get('q') ?? '').slice(0, MAX_QUERY),
    tokenState: view === 'tokens' ? findOneOf(TOKEN_STATES, state) : undefined,
    clusterState: view === 'clusters' ? findOneOf(CLUSTER_STATES, state) : undefined,
    zoom: findOneOf(ZOOM_NAMES, parameters.get('zoom')) ?? START.zoom,
    order: findOneOf(ORDERS, parameters.get('order')) ?? START.order,
    opened: parseOpened(parameters),
  };
}

/** Pattern of the name of a Cluster. */
const NAME = /^[a-z0-9][-.a-z0-9]{0,252}$/;
/** Pattern of the namespace and name of a ManagedToken, separated by a slash. */
const NAMESPACED_NAME = /^[a-z0-9][-a-z0-9]{0,62}\/[a-z0-9][-.a-z0-9]{0,252}$/;

/** Parses the opened object; undefined if there is none. A link can have any key, so the page must not show a string that is not a name. */
function parseOpened(parameters: URLSearchParams): OpenedObject | undefined {
  const token = parameters.get('token');
  if (token !== null) return { kind: 'token', key: NAMESPACED_NAME.test(token) ? token : '' };
  const cluster = parameters.get('cluster');
  return cluster === null ? undefined : { kind: 'cluster', key: NAME.test(cluster) ? cluster : '' };
}

/** Returns the fragment of the address, including the `#`. Initial values are omitted. */
export function formatAddress(address: Address): string {
  const { view, query, zoom, order, opened } = address;
  const state = view === 'tokens' ? address.tokenState : view === 'clusters' ? address.clusterState : undefined;
  const parameters = new URLSearchParams();
  if (query !== '') parameters.set('q', query);
  if (state !== undefined) parameters.set('state', state);
  if (zoom !== START.zoom) parameters.set('zoom', zoom);
  if (order !== START.order) parameters.set('order', order);
  if (opened !== undefined) parameters.set(opened.kind, opened.key);
  const search = parameters.toString().replaceAll('%2F', '/').replaceAll('%3A', ':');
  return `#/${view}${search === '' ? '' : `?${search}`}`;
}

function findOneOf<T extends string>(known: readonly T[], text: string | null): T | undefined {
  return known.find((each) => each === text);
}
