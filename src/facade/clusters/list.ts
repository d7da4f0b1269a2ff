// GET of the cluster list, and of one cluster, in the form that the caller asked for.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { formatVersion } from '../../access/facade-version.ts';
import { RegistryGroup } from '../../api/names.ts';
import { Clusters } from '../../api/resources.ts';
import { requestedVersion } from '../../kubernetes/list-revision.ts';
import { type Reply, textReply } from '../../kubernetes/reply.ts';
import { checkView, listParts, showObject, type View } from '../../kubernetes/representation.ts';
import { badRequest, notFound } from '../../kubernetes/status.ts';
import { acceptsGzip } from '../../kubernetes/wire/accept-gzip.ts';
import { formatList } from '../../kubernetes/wire/list-pieces.ts';
import { negotiate, type Representation } from '../../kubernetes/wire/negotiate.ts';
import { flag, text } from '../../kubernetes/wire/query.ts';
import type { Clock } from '../../std/clock.ts';
import type { Places } from '../admission/places.ts';
import type { FacadeReply, FacadeRequest } from '../request.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { CLUSTER_KIND } from './cluster-kind.ts';
import type { ClusterState } from './cluster-state.ts';
import { CONVERTED_LENGTH, joinedSlices, ListBody, lengthOf, SELF_LINK, type Slices, writeSlices, zipped } from './list-body.ts';
import { type ClusterPage, readPage } from './page.ts';
import { selected } from './selected.ts';

export interface ReadDeps {
  readonly state: ClusterState;
  readonly access: ClusterAccess;
  readonly clock: Clock;
  /** Places for those who read all that there is. */
  readonly fullLists: Places;
}

/** Larger answers take a place among the full lists. */
const LARGE_BYTES = 1 << 20;
/** Larger answers are written in slices. */
const WHOLE_BYTES = 256 * 1024;
/** Larger answers are compressed for those who accept it. */
const MIN_GZIP_BYTES = 128 * 1024;

/** The list, or one page of it. */
export async function listClusters(deps: ReadDeps, request: FacadeRequest): Promise<FacadeReply> {
  const { state, access, clock } = deps;
  const representation = negotiate(request.preferences, { builtIn: false, tables: true, watchable: true });
  const { options, selection } = selected(request, { watch: false });
  const view = viewOf(request, representation.as, clock);
  state.checkKnown();
  const { user } = request.caller;
  const page = await readPage(state, { selection, options, signal: request.signal, clock, visibility: () => access.visibleTo(user) });
  const isPlain = representation.as === undefined && representation.mediaType === 'json' && !representation.pretty;
  return isPlain ? plain(deps, request, page) : converted(deps, request, { page, representation, view });
}

/** One cluster; those that are hidden and those that do not exist are the same. */
export async function getCluster({ state, access, clock }: ReadDeps, request: FacadeRequest): Promise<FacadeReply> {
  const representation = negotiate(request.preferences, { builtIn: false, tables: true });
  const view = viewOf(request, representation.as, clock);
  if (flag(request.query, 'export')) throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
  const asked = requestedVersion(text(request.query, 'resourceVersion'));
  state.checkKnown();
  const visibility = () => access.visibleTo(request.caller.user);
  await state.reached(asked, { signal: request.signal, visibility });
  const seen = await visibility();
  const { name = '' } = request.params;
  const cluster = seen.includes(name) ? state.history.collection.get(name) : undefined;
  if (cluster === undefined) throw notFound({ group: RegistryGroup, name: Clusters.plural }, name);
  const object = cluster.at(formatVersion(cluster.revision, seen.fingerprint));
  const reply = textReply(200, showObject(object, view), representation);
  return { ...reply, headers: { ...reply.headers, ...VARY } };
}

/** How the answer shows clusters; 400. */
export function viewOf(request: FacadeRequest, as: Representation['as'], clock: Clock): View {
  const view = { kind: CLUSTER_KIND, as, includeObject: text(request.query, 'includeObject'), now: clock.now() };
  checkView(view);
  return view;
}

async function plain(deps: ReadDeps, request: FacadeRequest, page: ClusterPage): Promise<FacadeReply> {
  const body = new ListBody(page);
  const { length } = body;
  if (length <= WHOLE_BYTES) return wholeReply(request, Buffer.concat([...body], length), 'application/json');
  return inSlices(deps, request, { slices: body, contentType: 'application/json', length, isExact: true });
}

interface Converted {
  readonly page: ClusterPage;
  readonly representation: Representation;
  readonly view: View;
}

async function converted(deps: ReadDeps, request: FacadeRequest, { page, representation, view }: Converted): Promise<FacadeReply> {
  const { revision, fingerprint, whole, clusters } = page;
  const items = Iterator.from(whole?.from('') ?? clusters).map((cluster) => cluster.at(formatVersion(cluster.revision, fingerprint)));
  const list = { ...page, items, revision: formatVersion(revision, fingerprint), selfLink: SELF_LINK };
  const pieces = formatList(listParts(list, view), representation);
  const { contentType } = representation;
  const length = lengthOf(page);
  if (length <= CONVERTED_LENGTH) return wholeReply(request, [...pieces].join(''), contentType);
  return inSlices(deps, request, { slices: joinedSlices(pieces), contentType, length, isExact: false });
}

interface Sliced {
  readonly slices: Slices;
  readonly contentType: string;
  /** How many bytes the list is as compact JSON. */
  readonly length: number;
  /** Whether it is sent as such. */
  readonly isExact: boolean;
}

function inSlices({ clock, fullLists }: ReadDeps, request: FacadeRequest, { slices, contentType, length, isExact }: Sliced): FacadeReply {
  const isZipped = acceptsGzip(request.header('accept-encoding'));
  const release = length > LARGE_BYTES ? fullLists.take(request) : () => {};
  const size = isExact ? { 'content-length': String(length) } : {};
  // TLS keeps buffers as large as the largest slice for as long as a connection is open.
  const ending = length > LARGE_BYTES ? { connection: 'close' } : {};
  return {
    status: 200,
    headers: { 'content-type': contentType, ...VARY, ...(isZipped ? ZIPPED : size), ...ending },
    async write(response) {
      await writeSlices(isZipped ? zipped(slices) : slices, response, clock);
      release();
    },
  };
}

async function wholeReply(request: FacadeRequest, body: string | Buffer, contentType: string): Promise<Reply> {
  const isZipped = body.length > MIN_GZIP_BYTES && acceptsGzip(request.header('accept-encoding'));
  const headers = { 'content-type': contentType, ...VARY, ...(isZipped && ZIPPED) };
  return { status: 200, headers, body: isZipped ? await promisify(gzip)(body, { level: 1 }) : body };
}

const VARY = { vary: 'Authorization, Accept, Accept-Encoding' };
const ZIPPED = { 'content-encoding': 'gzip' };
