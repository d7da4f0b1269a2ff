// List and get requests. Compact JSON comes from shared bytes. Long lists are written in slices, as fast as the client reads.

import type { ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createGzip, gzip } from 'node:zlib';
import { objectKeyOf } from '../../kube/paths.ts';
import { parseRequestedVersion } from '../../kubernetes/list-revision.ts';
import { createTextReply } from '../../kubernetes/reply.ts';
import { checkView, encodeListParts, encodeObject, NOT_A_LIST, type View } from '../../kubernetes/representation.ts';
import { badRequest, notFound } from '../../kubernetes/status.ts';
import { acceptsGzip } from '../../kubernetes/wire/accept-gzip.ts';
import { formatList } from '../../kubernetes/wire/list-pieces.ts';
import { negotiate, type Representation } from '../../kubernetes/wire/negotiate.ts';
import { readFlag, readText } from '../../kubernetes/wire/query.ts';
import type { Clock } from '../../std/clock.ts';
import { encodeGoJson } from '../../std/go-text.ts';
import type { ConcurrencyLimiter } from '../limits/concurrency.ts';
import { recordWrite } from '../limits/connections.ts';
import { enforceReadRate } from '../limits/read-rate.ts';
import type { FacadeReply, FacadeRequest } from '../request.ts';
import type { Collection } from './collection.ts';
import { type Listing, toListPath } from './filtered-list.ts';
import type { History } from './history.ts';
import { type Page, parseQuery, readPage } from './page.ts';
import type { RbacAccess } from './rbac-access.ts';
import { type CallerVersions, formatFacadeVersion, formatFacadeVersionAt } from './version.ts';

export interface ListDeps {
  readonly listing: Listing;
  readonly history: History;
  readonly access: RbacAccess;
  readonly versions: CallerVersions;
  readonly clock: Clock;
  /** Limit on the memory of long responses in progress, in bytes. */
  readonly responseBytes: ConcurrencyLimiter;
}

/** Size of a list above which an HTTP/1.1 connection is closed after the response, in bytes. */
const LARGE_LIST_BYTES = 1 << 20;
/**
 * Size above which a response reserves memory until it has been sent, in bytes. The limit on requests in progress bounds the memory of
 * shorter responses.
 */
const SMALL_RESPONSE_BYTES = 32 * 1024;
/** Memory of a response that is written in slices, in bytes: a slice, and its encrypted copy. */
export const RESERVED_BYTES = 256 * 1024;
/** Maximum size of a list in compact JSON that is written in one piece, in bytes; a longer list is written in slices. */
const MAX_WHOLE_BYTES = 256 * 1024;
/**
 * Size above which a list in one piece is compressed if the client accepts gzip, in bytes. A list in slices is compressed for such a client
 * regardless of its size.
 */
const MIN_GZIP_BYTES = 128 * 1024;
/** Maximum size of a slice of shared blocks, and size at which a slice of single items ends, in bytes. */
const SLICE_BYTES = 128 * 1024;
/**
 * Length at which a slice of converted items ends, in characters; a list whose compact JSON is not longer is written in one piece. Slices
 * are short, because conversion is slow and delays other requests.
 */
const CONVERTED_LENGTH = 32 * 1024;
/** Time after which encoding pauses for other requests, in milliseconds. */
const ENCODE_MS = 5;
const COMMA = Buffer.from(',');
const VARY_HEADER = { vary: 'Authorization, Accept, Accept-Encoding' };
const GZIP_HEADER = { 'content-encoding': 'gzip' };

/** Returns a list, or one page of it. */
export async function listObjects(deps: ListDeps, request: FacadeRequest): Promise<FacadeReply> {
  const { listing, history, access, versions, clock } = deps;
  const representation = negotiate(request.preferences, { builtIn: false, tables: true, watchable: true });
  const query = parseQuery(request, listing, false);
  const view = parseView(request, listing, representation.as, clock);
  history.checkSynced(listing.plural);
  const { user } = request.caller;
  const page = await readPage(history, {
    ...query,
    signal: request.signal,
    clock,
    findVisibility: () => access.findVisibility(user),
    currentVersion: (visibility, sent) => versions.next(user, visibility, history.revision, sent),
  });
  const selfLink = toListPath(listing, query.namespace);
  const isPlain = representation.as === undefined && representation.mediaType === 'json' && !representation.pretty;
  if (isPlain) return createPlainReply(deps, request, { page, selfLink });
  return createConvertedReply(deps, request, { page, selfLink, representation, view });
}

/** Returns one object. Throws the same 404 for a hidden and for a missing object. */
export async function getObject(deps: ListDeps, request: FacadeRequest): Promise<FacadeReply> {
  const { listing, history, access, clock } = deps;
  const representation = negotiate(request.preferences, { builtIn: false, tables: true });
  const view = parseView(request, listing, representation.as, clock);
  if (readFlag(request.query, 'export')) throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
  const version = parseRequestedVersion(readText(request.query, 'resourceVersion'));
  history.checkSynced(listing.plural);
  const findVisibility = () => access.findVisibility(request.caller.user);
  await history.waitFor(version, { signal: request.signal, findVisibility });
  const visibility = await findVisibility();
  const { namespace = '', name = '' } = request.params;
  const key = objectKeyOf({ metadata: { namespace, name } });
  const item = history.collection.get(key);
  if (item === undefined || !visibility.includesObject(item)) throw notFound({ group: listing.kind.group, name: listing.plural }, name);
  if (view.as?.kind === 'PartialObjectMetadataList') throw badRequest(NOT_A_LIST);
  const object = item.at(formatFacadeVersionAt(item.revision, visibility));
  const reply = createTextReply(200, encodeObject(object, view), representation);
  return { ...reply, headers: { ...reply.headers, ...VARY_HEADER }, ...reserve(deps, request, (reply.body as string).length) };
}

/** Returns the requested view of objects. Throws 400 for an unsupported view. */
export function parseView(request: FacadeRequest, { kind }: Listing, as: Representation['as'], clock: Clock): View {
  const view = { kind, as, includeObject: readText(request.query, 'includeObject'), now: clock.now() };
  checkView(view);
  return view;
}

/** A page and the path of its list. */
interface LinkedPage {
  readonly page: Page;
  readonly selfLink: string;
}

async function createPlainReply(deps: ListDeps, request: FacadeRequest, linked: LinkedPage): Promise<FacadeReply> {
  await encodeItems(linked.page, deps.clock);
  const body = new ListBody(deps.listing, linked);
  const { length } = body;
  if (length <= MAX_WHOLE_BYTES)
    return createWholeReply(deps, request, { body: Buffer.concat([...body], length), contentType: 'application/json' });
  return createSlicedReply(deps, request, { slices: body, contentType: 'application/json', length, isExact: true });
}

/** Encodes the items that have not been encoded yet. Pauses for other requests after every ENCODE_MS. */
async function encodeItems({ whole, items }: Page, clock: Clock): Promise<void> {
  let startedAt = clock.monotonic();
  for (const { bytes } of whole?.blocks ?? items) {
    if (bytes.length === 0 || clock.monotonic() - startedAt < ENCODE_MS) continue;
    await setImmediate();
    startedAt = clock.monotonic();
  }
}

interface ConvertedPage extends LinkedPage {
  readonly representation: Representation;
  readonly view: View;
}

async function createConvertedReply(deps: ListDeps, request: FacadeRequest, converted: ConvertedPage): Promise<FacadeReply> {
  const { page, selfLink, representation, view } = converted;
  const { version, whole } = page;
  const items = Iterator.from(whole?.from('') ?? page.items).map((item) => item.at(formatFacadeVersionAt(item.revision, version)));
  const list = { ...page, items, revision: formatFacadeVersion(version), selfLink };
  const pieces = formatList(encodeListParts(list, view), representation);
  const { contentType } = representation;
  const length = computeLength(page);
  if (length <= CONVERTED_LENGTH) return createWholeReply(deps, request, { body: [...pieces].join(''), contentType });
  return createSlicedReply(deps, request, { slices: joinSlices(pieces), contentType, length, isExact: false });
}

type Slices = Iterable<Buffer | string>;

interface SlicedBody {
  readonly slices: Slices;
  readonly contentType: string;
  /** Length of the list as compact JSON, in bytes. */
  readonly length: number;
  /** True if the list is sent as compact JSON, so that `length` is its exact length. */
  readonly isExact: boolean;
}

function createSlicedReply(deps: ListDeps, request: FacadeRequest, sliced: SlicedBody): FacadeReply {
  const { slices, contentType, length, isExact } = sliced;
  const isZipped = acceptsGzip(request.header('accept-encoding'));
  const size = isExact ? { 'content-length': String(length) } : {};
  // Closes an HTTP/1.1 connection after a large list: the TLS buffer of an open connection keeps the size of the connection's largest
  // write.
  const ending = length > LARGE_LIST_BYTES ? { connection: 'close' } : {};
  return {
    status: 200,
    headers: { 'content-type': contentType, ...VARY_HEADER, ...(isZipped ? GZIP_HEADER : size), ...ending },
    write: (response) => writeSlices(isZipped ? compress(slices) : slices, response, deps.clock),
    ...reserve(deps, request, Math.min(length, RESERVED_BYTES)),
  };
}

interface WholeBody {
  readonly body: string | Buffer;
  readonly contentType: string;
}

async function createWholeReply(deps: ListDeps, request: FacadeRequest, { body, contentType }: WholeBody): Promise<FacadeReply> {
  const reserved = reserve(deps, request, body.length);
  const isZipped = body.length > MIN_GZIP_BYTES && acceptsGzip(request.header('accept-encoding'));
  const headers = { 'content-type': contentType, ...VARY_HEADER, ...(isZipped && GZIP_HEADER) };
  return { status: 200, headers, body: isZipped ? await promisify(gzip)(body, { level: 1 }) : body, ...reserved };
}

/** Reserves the memory of a response above SMALL_RESPONSE_BYTES until the response has been sent. Throws 429 above the limits. */
function reserve({ responseBytes }: ListDeps, request: FacadeRequest, bytes: number): Pick<FacadeReply, 'onClosed'> {
  return bytes > SMALL_RESPONSE_BYTES ? { onClosed: responseBytes.acquire(request, bytes) } : {};
}

/** The slices of a list as compact JSON. A slice is created when it is written, so that a stalled reader keeps only one in memory. */
class ListBody {
  readonly #page: Page;
  readonly #head: Buffer;
  readonly #tail: Buffer;
  /** Length of all slices, in bytes. */
  readonly length: number;

  constructor({ kind: { group, version, listKind } }: Listing, { page, selfLink }: LinkedPage) {
    this.#page = page;
    this.#head = Buffer.from(`{"apiVersion":"${group}/${version}","items":[`);
    this.#tail = Buffer.from(`],"kind":"${listKind}","metadata":${encodeGoJson(createListMetadata(page, selfLink))}}\n`);
    this.length = this.#head.length + computeLength(page) + this.#tail.length;
  }

  *[Symbol.iterator](): Generator<Buffer> {
    yield this.#head;
    yield* dropLastComma(this.#page.whole ? sliceBlocks(this.#page.whole) : sliceItems(this.#page));
    yield this.#tail;
  }
}

function createListMetadata(page: Page, selfLink: string): Readonly<Record<string, unknown>> {
  return {
    continue: page.continue,
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
    resourceVersion: formatFacadeVersion(page.version),
    selfLink,
  };
}

/** Returns the length of the items with commas between them, in bytes. */
function computeLength({ whole, items }: Page): number {
  const lengths = whole ? whole.blocks.map(({ bytes }) => bytes.length) : items.map(({ bytes }) => bytes.length + COMMA.length);
  return Math.max(lengths.reduce((sum, length) => sum + length, 0) - COMMA.length, 0);
}

function* sliceBlocks({ blocks }: Collection): Generator<Buffer> {
  for (const { bytes } of blocks) for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
}

function* sliceItems({ items, version }: Page): Generator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  for (const item of items) {
    for (const part of [...item.toListParts(version), COMMA]) {
      parts.push(part);
      size += part.length;
    }
    if (size < SLICE_BYTES) continue;
    yield Buffer.concat(parts, size);
    parts = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(parts, size);
}

function* dropLastComma(slices: Iterable<Buffer>): Generator<Buffer> {
  let held: Buffer | undefined;
  for (const slice of slices) {
    if (held !== undefined) yield held;
    held = slice;
  }
  if (held !== undefined) yield held.subarray(0, -COMMA.length);
}

function* joinSlices(pieces: Iterable<string>): Generator<string> {
  let slice = '';
  for (const piece of pieces) {
    slice += piece;
    if (slice.length < CONVERTED_LENGTH) continue;
    yield slice;
    slice = '';
  }
  if (slice !== '') yield slice;
}

/** Returns the compressed slices. An error in `slices` is thrown to the reader of the result. */
function compress(slices: Slices): AsyncIterable<Buffer> {
  return pipeline(Readable.from(slices, { highWaterMark: 1 }), createGzip({ level: 1 }), () => {});
}

/** Writes all slices. Closes the connection or the HTTP/2 stream of a client that reads below the minimum rate. */
async function writeSlices(slices: Slices | AsyncIterable<Buffer>, response: ServerResponse, clock: Clock): Promise<void> {
  let sentBytes = 0;
  const stop = enforceReadRate({ clock, sentBytes: () => sentBytes, onTooSlow: () => response.destroy() });
  try {
    for await (const slice of slices) {
      if (response.destroyed) return;
      if (response.socket) recordWrite(response.socket, slice.length);
      if (!response.write(slice)) await waitForDrain(response);
      // Lets other requests run while the kernel accepts slices immediately.
      else await setImmediate();
      sentBytes += slice.length;
    }
  } finally {
    stop();
  }
}

async function waitForDrain(response: ServerResponse): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  response.once('drain', resolve);
  response.once('close', resolve);
  await promise;
  response.off('drain', resolve);
  response.off('close', resolve);
}
