// Requests discovery documents without a server.

import type { Reply } from '../../../src/kubernetes/reply.ts';
import { serveDiscovery } from '../../discovery/route.ts';
import type { Kind } from '../../kinds/kind.ts';
import { builtInKinds } from '../../kinds/registry.ts';
import { secretKind } from '../../kinds/secret.ts';

/** Returns a kind like that of a CustomResourceDefinition. */
export function widgetKind(version = 'v1alpha1'): Kind {
  const self = { group: 'example.dev', version, kind: 'Widget' };
  return {
    ...secretKind,
    ...self,
    listKind: 'WidgetList',
    plural: 'widgets',
    singular: 'widget',
    shortNames: ['wd'],
    verbs: ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'],
    subresources: [{ name: 'status', kind: self, verbs: ['get', 'patch', 'update'] }],
    builtIn: false,
  };
}

export const KINDS: readonly Kind[] = [...builtInKinds, widgetKind()];

export interface DiscoverOptions {
  readonly method?: string;
  readonly accept?: string;
  readonly userAgent?: string;
  readonly ifNoneMatch?: string;
  readonly kinds?: readonly Kind[];
}

export function discover(
  url: string,
  { method = 'GET', accept, userAgent, ifNoneMatch, kinds = KINDS }: DiscoverOptions = {},
): Reply | undefined {
  const { pathname, searchParams } = new URL(url, 'https://127.0.0.1');
  const request = { method, path: pathname, query: searchParams, accept, userAgent, ifNoneMatch };
  return serveDiscovery(request, { kinds, serverAddress: '127.0.0.1:6443' });
}

/** Returns the body of a response. */
export function bodyText(url: string, options?: DiscoverOptions): string {
  const body = discover(url, options)?.body;
  return typeof body === 'string' ? body : '';
}

/** Returns the parsed body of a response. */
export function document(url: string, options?: DiscoverOptions): Readonly<Record<string, unknown>> {
  return JSON.parse(bodyText(url, options));
}
