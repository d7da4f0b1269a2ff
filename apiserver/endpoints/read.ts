// GET: one object, a list, or a watch.

import { parseRequestedVersion } from '../../src/kubernetes/list-revision.ts';
import { createTextReply, type Reply } from '../../src/kubernetes/reply.ts';
import { encodeEvent, encodeList, type View } from '../../src/kubernetes/representation.ts';
import { parseSelectors, Selection } from '../../src/kubernetes/selection.ts';
import { notFound, unclassified } from '../../src/kubernetes/status.ts';
import { encodeWatchEvent } from '../../src/kubernetes/wire/encode.ts';
import { parseListOptions, validateListOptions } from '../../src/kubernetes/wire/list-options.ts';
import { checkStreamable, negotiate } from '../../src/kubernetes/wire/negotiate.ts';
import type { ListOptions } from '../../src/kubernetes/wire/options.ts';
import { encodeOrderedJson } from '../../src/kubernetes/wire/ordered-json.ts';
import { readText } from '../../src/kubernetes/wire/query.ts';
import { type Api, openStore, toResourceName } from '../verbs/api.ts';
import { listObjects } from '../verbs/list.ts';
import { type WatchEvent, watchObjects } from '../verbs/watch.ts';
import { createObjectReply, createView, type KindRequest, negotiateRepresentation, toTarget } from './endpoint.ts';

export async function handleGet(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const { kind, namespace, name } = toTarget(request);
  await waitForRequestedRevision(api, request.query);
  const object = openStore(api, kind).get(namespace, name);
  if (object === undefined) throw notFound(toResourceName(kind), name);
  return createObjectReply(api, request, representation, { status: 200, object });
}

export async function handleList(api: Api, request: KindRequest): Promise<Reply> {
  const representation = negotiateRepresentation(request);
  const target = toTarget(request);
  const { options, selection } = parseSelection(request, target.namespace);
  const page = await listObjects(api, target, selection, options);
  return createTextReply(200, encodeList(page, createView(api, request, representation.as)), representation);
}

export async function handleWatch(api: Api, request: KindRequest): Promise<Reply> {
  const { kind } = request;
  const representation = negotiate(request.preferences, { builtIn: kind.builtIn, tables: true, watchable: true });
  const { options, selection } = parseSelection(request, toTarget(request).namespace);
  checkStreamable(representation);
  const view = createView(api, request, representation.as);
  const batches = await watchObjects(api, { kind, selection, options, signal: request.signal });
  return { status: 200, headers: { 'content-type': representation.contentType }, body: encodeEvents(batches, view) };
}

/** Waits until the store has reached the requested resourceVersion. Throws 500 for a malformed resourceVersion, and 504 after a timeout. */
async function waitForRequestedRevision(api: Api, query: URLSearchParams): Promise<void> {
  const requested = Number(parseRequestedVersion(readText(query, 'resourceVersion'), unclassified));
  if (requested > api.store.revision) await api.waitForRevision(requested);
}

/** Parses the list options and selectors of a query. Throws 400 or 422, checked in kube-apiserver's order. */
export function parseSelection({ kind, query, info }: KindRequest, namespace: string): { options: ListOptions; selection: Selection } {
  const parsed = parseListOptions(query);
  const selectors = parseSelectors(parsed.labelSelector, parsed.fieldSelector);
  const options = validateListOptions(parsed, { watch: info.verb === 'watch' });
  return { options, selection: new Selection(kind, selectors, namespace) };
}

/** Minimum length of a written chunk, in characters, except for the last chunk of a batch: small events are written together. */
const CHUNK_LENGTH = 64 * 1024;

async function* encodeEvents(batches: AsyncIterable<readonly WatchEvent[]>, view: View): AsyncGenerator<string> {
  let isFirst = true;
  for await (const events of batches) {
    // No event contains a list, so a watch that requests lists ends before its first event.
    if (view.as?.kind === 'PartialObjectMetadataList') return;
    let chunk = '';
    for (const event of events) {
      chunk += encodeLine(event, view, isFirst);
      isFirst = false;
      if (chunk.length < CHUNK_LENGTH) continue;
      yield chunk;
      chunk = '';
    }
    if (chunk !== '') yield chunk;
  }
}

function encodeLine(event: WatchEvent, view: View, isFirst: boolean): string {
  if (event.type === 'ERROR') return encodeWatchEvent('ERROR', encodeOrderedJson(event.status));
  return encodeWatchEvent(event.type, encodeEvent(event.object, view, isFirst));
}
