// Pages of lists, as servers send them and as we use them.

import type { ApiObject, Resource } from '../api/resources.ts';
import type { Page } from './calls.ts';
import { apiVersionOf } from './paths.ts';

interface RawList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items?: readonly T[] | null;
}

/** Undefined for what is no list of named objects: one bad item must not end up in a store. */
export function pageOf<T extends ApiObject>(resource: Resource<T>, list: RawList<T> | null): Page<T> | undefined {
  const items = list?.items ?? [];
  if (!list?.metadata || !Array.isArray(items) || !items.every((item) => item?.metadata?.name)) return undefined;
  const { resourceVersion = '', continue: cont } = list.metadata;
  return {
    // Items of built-in lists come without their type; watches have it.
    items: items.map((item) => typed(resource, item)),
    resourceVersion,
    ...(cont && { continue: cont }),
  };
}

/** All pages as one. */
export async function joined<T>(pages: AsyncIterable<Page<T>>): Promise<Page<T>> {
  const items: T[] = [];
  let resourceVersion = '';
  for await (const page of pages) {
    for (const item of page.items) items.push(item);
    resourceVersion = page.resourceVersion;
  }
  return { items, resourceVersion };
}

/** An object with its type, which items of lists lack and writes need. */
export function typed<T extends ApiObject>(resource: Resource<T>, object: T): T {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, ...object };
}
