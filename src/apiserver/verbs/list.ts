// List: which revision, which objects, which page of them.

import { badRequest, expired, StatusError, statusError, unclassified } from '../../api/status.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import type { ListPage } from '../../apimachinery/representation.ts';
import type { Selection } from '../../apimachinery/selection.ts';
import { atLatest, type ContinueToken, decodeContinue, encodeContinue } from '../../apimachinery/wire/continue-token.ts';
import type { ListOptions } from '../../apimachinery/wire/options.ts';
import { goQuote } from '../../std/go-text.ts';
import type { Kind } from '../kinds/kind.ts';
import { keyOfObject } from '../storage/kind-store.ts';
import { type Api, storeOf } from './api.ts';

const TOO_OLD = 'The resourceVersion for the provided list is too old.';
const TOO_OLD_TO_CONTINUE =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';

/** One page of a list. Waits a moment for revisions that have not happened yet. */
export async function listObjects(
  api: Api,
  { kind, namespace }: { readonly kind: Kind; readonly namespace: string },
  selection: Selection,
  options: ListOptions,
): Promise<ListPage> {
  const token = options.continue === '' ? undefined : continueToken(options);
  const wanted = token === undefined ? parseRevision(options.resourceVersion, 'invalid resource version: ') : token.revision;
  if (wanted > api.store.revision) await api.reached(wanted);
  const pinned = token === undefined ? pinnedRevision(options, wanted, selection) : token.revision;
  const isPinned = pinned > 0;
  const objects = storeOf(api, kind).list(namespace, isPinned ? pinned : undefined);
  if (objects === undefined) throw token === undefined ? expired(TOO_OLD) : tooOldToContinue(token);
  const range = { kind, namespace, start: token?.start ?? '', limit: options.resourceVersion === '0' ? 0 : options.limit };
  return pageOf(objects, selection, range, isPinned ? pinned : api.store.revision);
}

/** The resource version of a get or a watch; they answer bad ones with 500, unlike a list. */
export function requestedRevision(text: string): number {
  try {
    return parseRevision(text, '');
  } catch (error) {
    throw unclassified((error as Error).message);
  }
}

/** A resource version as a number; empty and `0` both mean any. Throws 400. */
function parseRevision(text: string, prefix: string): number {
  const isNumber = /^\d*$/.test(text);
  if (isNumber && BigInt(text) <= MAX_UINT64) return Number(text);
  const problem = `strconv.ParseUint: parsing ${goQuote(text)}: ${isNumber ? 'value out of range' : 'invalid syntax'}`;
  throw badRequest(`${prefix}resourceVersion: Invalid value: ${goQuote(text)}: ${problem}`);
}

const MAX_UINT64 = 2n ** 64n - 1n;

/** The answer to a revision that lies in the future. */
export function revisionTooLarge(wanted: number, current: number): StatusError {
  return statusError('Timeout', `Timeout: Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

interface Range {
  readonly kind: Kind;
  readonly namespace: string;
  /** The first key of the page, relative to the namespace that is listed. */
  readonly start: string;
  readonly limit: number;
}

function pageOf(objects: readonly KubeObject[], selection: Selection, range: Range, revision: number): ListPage {
  const fromStart = range.start === '' ? objects : objects.filter((object) => relativeKey(range, object) >= range.start);
  const selected = selection.isEverything ? fromStart : fromStart.filter((object) => selection.matches(object));
  if (range.limit <= 0 || selected.length <= range.limit) return { items: selected, revision, continue: '' };
  const items = selected.slice(0, range.limit);
  const last = items.at(-1) as KubeObject;
  return {
    items,
    revision,
    continue: encodeContinue(revision, relativeKey(range, last)),
    ...(selection.isEverything && { remaining: selected.length - items.length }),
  };
}

function relativeKey({ kind, namespace }: Range, object: KubeObject): string {
  const key = keyOfObject(kind, object);
  return namespace === '' ? key : key.slice(namespace.length + 1);
}

function continueToken(options: ListOptions): ContinueToken {
  const token = decodeContinue(options.continue);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  return token;
}

/** The one revision that may be shown; 0 when a newer one will do. A list that can hold but one object is a get, without pages. */
function pinnedRevision({ resourceVersionMatch, limit }: ListOptions, wanted: number, { isOneObject }: Selection): number {
  const isExact = resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && limit > 0 && !isOneObject);
  return isExact ? wanted : 0;
}

function tooOldToContinue(token: ContinueToken): StatusError {
  const { status } = expired(TOO_OLD_TO_CONTINUE);
  return new StatusError({ ...status, metadata: { continue: atLatest(token) } });
}
