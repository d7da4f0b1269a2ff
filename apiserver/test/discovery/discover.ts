// Asks discovery for documents without a server.

import type { Reply } from '../../../src/kubernetes/reply.ts';
import { discoveryRoute } from '../../discovery/route.ts';
import type { Kind } from '../../kinds/kind.ts';
import { builtInKinds } from '../../kinds/registry.ts';
import { secretKind } from '../../kinds/secret.ts';

/** A kind as a CustomResourceDefinition declares it. */
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

export interface Question {
  readonly method?: string;
  readonly accept?: string;
  readonly userAgent?: string;
  readonly ifNoneMatch?: string;
  readonly kinds?: readonly Kind[];
}

export function discover(url: string, { method = 'GET', accept, userAgent, ifNoneMatch, kinds = KINDS }: Question = {}): Reply | undefined {
  const { pathname, searchParams } = new URL(url, 'https://127.0.0.1');
  return discoveryRoute(
    { method, path: pathname, query: searchParams, accept, userAgent, ifNoneMatch },
    {
      kinds,
      serverAddress: '127.0.0.1:6443',
    },
  );
}

/** The body of an answer. */
export function bodyText(url: string, question?: Question): string {
  const body = discover(url, question)?.body;
  return typeof body === 'string' ? body : '';
}

/** The parsed body of an answer. */
export function document(url: string, question?: Question): Readonly<Record<string, unknown>> {
  return JSON.parse(bodyText(url, question));
}
