// List: one page of the selected objects at a revision.

import {
  computePageLimit,
  continueTokenExpired,
  listExpired,
  parseContinueToken,
  parseListVersion,
  requiresExactVersion,
} from '../../src/kubernetes/list-revision.ts';
import type { ListPage } from '../../src/kubernetes/representation.ts';
import type { Selection } from '../../src/kubernetes/selection.ts';
import { encodeContinue } from '../../src/kubernetes/wire/continue-token.ts';
import type { ListOptions } from '../../src/kubernetes/wire/options.ts';
import type { Kind } from '../kinds/kind.ts';
import { toObjectKey } from '../storage/kind-store.ts';
import type { StoredObject } from '../storage/object-store.ts';
import { type Api, openStore } from './api.ts';

/** Returns one page of a list. Waits for a future revision. Rejects with 504 after a timeout, and with 410 for an expired revision. */
export async function listObjects(
  api: Api,
  { kind, namespace }: { readonly kind: Kind; readonly namespace: string },
  selection: Selection,
  options: ListOptions,
): Promise<StoredPage> {
  const token = parseContinueToken(options);
  const requested = Number(token?.revision ?? parseListVersion(options));
  if (requested > api.store.revision) await api.waitForRevision(requested);
  const isPinned = requested > 0 && (token !== undefined || requiresExactVersion(options, selection));
  const objects = openStore(api, kind).list(namespace, isPinned ? requested : undefined);
  if (objects === undefined) throw token === undefined ? listExpired() : continueTokenExpired(token);
  const range = { kind, namespace, start: token?.start ?? '', limit: computePageLimit(options) };
  return toPage(objects, selection, range, isPinned ? requested : api.store.revision);
}

type StoredPage = ListPage & { readonly items: readonly StoredObject[] };

interface Range {
  readonly kind: Kind;
  readonly namespace: string;
  /** First key of the page, relative to the listed namespace; empty for the first page. */
  readonly start: string;
  readonly limit: number;
}

function toPage(objects: readonly StoredObject[], selection: Selection, range: Range, revision: number): StoredPage {
  const fromStart = range.start === '' ? objects : objects.filter((object) => toRelativeKey(range, object) >= range.start);
  const selected = selection.isEverything ? fromStart : fromStart.filter((object) => selection.matches(object));
  if (range.limit <= 0 || selected.length <= range.limit) return { items: selected, revision, continue: '' };
  const items = selected.slice(0, range.limit);
  const last = items.at(-1) as StoredObject;
  return {
    items,
    revision,
    continue: encodeContinue(revision, toRelativeKey(range, last)),
    ...(selection.isEverything && { remaining: selected.length - items.length }),
  };
}

function toRelativeKey({ kind, namespace }: Range, object: StoredObject): string {
  const key = toObjectKey(kind, object);
  return namespace === '' ? key : key.slice(namespace.length + 1);
}
