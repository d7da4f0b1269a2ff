// Objects, lists and watch events in the requested form: complete, as a Table, or metadata only.

import { quoteGoString } from '../std/go-text.ts';
import type { ServedKind } from './kind.ts';
import { apiVersionOf, type KubeObject } from './object.ts';
import { objectStruct } from './schema/go-struct.ts';
import { badRequest, statusError, unclassified } from './status.ts';
import { encodeItemJson, encodeListFrame, encodeObjectJson, joinList, type ListFrame, type ListParts } from './wire/encode.ts';
import type { Representation } from './wire/negotiate.ts';
import { encodeOrderedJson } from './wire/ordered-json.ts';

export interface ListPage {
  readonly items: Iterable<KubeObject>;
  readonly revision: number | string;
  /** Token of the next page; empty on the last page. */
  readonly continue: string;
  readonly remaining?: number;
  /** Path of the list; undefined to omit selfLink, as kube-apiserver does. */
  readonly selfLink?: string;
}

/** Requested form of the objects in a response. */
export interface View {
  readonly kind: ServedKind;
  readonly as: Representation['as'];
  /** The `includeObject` parameter of tables. */
  readonly includeObject: string;
  /** Current time, for ages. */
  readonly now: number;
}

/** Error message for one custom resource that is requested as a list. kube-apiserver sends it with status 500. */
export const NOT_A_LIST = 'content is not a list';
const PARTIAL_OBJECT_METADATA = objectStruct('v1.PartialObjectMetadata', {});

const INCLUDE_OBJECT_VALUES: ReadonlySet<string> = new Set(['', 'Metadata', 'Object', 'None']);

/** Throws 400 for a Table with an invalid `includeObject` parameter. */
export function checkView({ as, includeObject }: View): void {
  if (as?.kind !== 'Table' || INCLUDE_OBJECT_VALUES.has(includeObject)) return;
  const why = `includeObject: Invalid value: ${quoteGoString(includeObject)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw badRequest(`Unable to convert to Table as requested: ${why}`);
}

/** Returns the compact JSON of one object in the requested form. Throws if the form is a list. */
export function encodeObject(object: KubeObject, view: View): string {
  switch (view.as?.kind) {
    case undefined:
      return encodeWhole(object, view.kind);
    case 'Table':
      return encodeTable(object, view);
    case 'PartialObjectMetadata':
      return encodeMetadata(object, view);
    case 'PartialObjectMetadataList':
      throw notAList(view.kind);
  }
}

/** Throws 406, or 500 for a kind that is not built-in, if an object of a virtual kind is requested as a list. */
export function checkVirtualForm(kind: VirtualKind, as: Representation['as']): void {
  if (as?.kind === 'PartialObjectMetadataList') throw notAList(kind);
}

/** Returns the compact JSON of an object of a virtual kind: complete, or its metadata. */
export function encodeVirtualObject(object: KubeObject, kind: VirtualKind, as: Representation['as']): string {
  checkVirtualForm(kind, as);
  return as === undefined ? encodeObjectJson(object, kind.schema) : encodeMetadata(object, { as });
}

/** A kind whose objects are never stored, such as TokenRequest. */
export type VirtualKind = Pick<ServedKind, 'group' | 'kind' | 'builtIn' | 'schema'>;

/** Returns the compact JSON of one page of a list in the requested form. */
export function encodeList(page: ListPage, view: View): string {
  return joinList(encodeListParts(page, view));
}

/** Returns the compact JSON of one page of a list in parts. The items are encoded lazily. Throws 406 if the view is for a single object. */
export function encodeListParts(page: ListPage, view: View): ListParts {
  const { kind } = view;
  const encodeItems = (encode: (item: KubeObject) => string) => Iterator.from(page.items).map(encode);
  const metadata = {
    resourceVersion: String(page.revision),
    continue: page.continue,
    ...(page.remaining !== undefined && { remainingItemCount: page.remaining }),
  };
  switch (view.as?.kind) {
    case undefined: {
      const selfLink = page.selfLink === undefined ? {} : { selfLink: page.selfLink };
      const head = { apiVersion: apiVersionOf(kind), kind: kind.listKind, metadata: { ...metadata, ...selfLink } };
      return { ...encodeListFrame(head, kind.builtIn), items: encodeItems((item) => encodeItem(item, kind)) };
    }
    case 'Table':
      return { ...encodeTableFrame(metadata, view), items: encodeItems((item) => encodeRow(item, view)) };
    case 'PartialObjectMetadataList': {
      const head = { apiVersion: formatMetaVersion(view), kind: 'PartialObjectMetadataList', metadata };
      return { ...encodeListFrame(head, true), items: encodeItems((item) => encodeMetadata(item, view)) };
    }
    case 'PartialObjectMetadata':
      throw notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list (${formatGoType(kind, 'List')})`);
  }
}

/** Returns the compact JSON of the object in a watch event. In a watch of tables, only the first event contains the columns. */
export function encodeEvent(object: KubeObject, view: View, isFirst: boolean): string {
  if (view.as?.kind !== 'Table') return encodeObject(object, view);
  return encodeTable(object, view, isFirst);
}

interface TableMetadata {
  readonly resourceVersion?: string | undefined;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

function encodeTable(object: KubeObject, view: View, hasColumns = true): string {
  const frame = encodeTableFrame({ resourceVersion: object.metadata.resourceVersion }, view, hasColumns);
  return joinList({ ...frame, items: [encodeRow(object, view)] });
}

function encodeTableFrame(metadata: TableMetadata, view: View, hasColumns = true): ListFrame {
  const { columns } = view.kind.table;
  const { continue: next = '', ...rest } = metadata;
  const head = encodeOrderedJson({
    kind: 'Table',
    apiVersion: formatMetaVersion(view),
    metadata: { resourceVersion: rest.resourceVersion, ...(next !== '' && { continue: next }), ...remainingOf(rest) },
    columnDefinitions: hasColumns ? columns : null,
  });
  return { before: `${head.slice(0, -1)},"rows":[`, after: ']}' };
}

function remainingOf({ remainingItemCount }: TableMetadata): object {
  return remainingItemCount === undefined ? {} : { remainingItemCount };
}

function encodeRow(object: KubeObject, view: View): string {
  const cells = encodeOrderedJson(view.kind.table.cells(withName(object), view.now));
  return `{"cells":${cells},"object":${encodeRowObject(object, view)}}`;
}

/** Returns the object with an empty name if it has none, because tables show bookmarks with an empty name. */
function withName(object: KubeObject): KubeObject {
  return object.metadata.name === undefined ? { ...object, metadata: { ...object.metadata, name: '' } } : object;
}

function encodeRowObject(object: KubeObject, view: View): string {
  switch (view.includeObject) {
    case 'Object':
      return encodeWhole(object, view.kind);
    case 'None':
      return 'null';
    default:
      return encodeMetadata(object, view);
  }
}

function encodeMetadata({ metadata }: KubeObject, view: Pick<View, 'as'>): string {
  return encodeObjectJson({ kind: 'PartialObjectMetadata', apiVersion: formatMetaVersion(view), metadata }, PARTIAL_OBJECT_METADATA);
}

function formatMetaVersion({ as }: Pick<View, 'as'>): string {
  return `meta.k8s.io/${as?.version ?? 'v1'}`;
}

/** JSON of stored objects. Stored objects never change, so each is encoded once for all gets, lists and watches. */
const texts = new WeakMap<KubeObject, string>();
const itemTexts = new WeakMap<KubeObject, string>();

function encodeWhole(object: KubeObject, kind: ServedKind): string {
  return memoize(texts, object, () => encodeObjectJson(object, kind.builtIn ? kind.schema : undefined));
}

function encodeItem(object: KubeObject, kind: ServedKind): string {
  return kind.builtIn ? memoize(itemTexts, object, () => encodeItemJson(object, kind.schema)) : encodeWhole(object, kind);
}

function memoize(memory: WeakMap<KubeObject, string>, object: KubeObject, make: () => string): string {
  const known = memory.get(object);
  if (known !== undefined) return known;
  const text = make();
  memory.set(object, text);
  return text;
}

/** Returns the error for one object that is requested as a list. For custom resources, Kubernetes finds the error later and sends 500. */
function notAList(kind: VirtualKind): Error {
  if (!kind.builtIn) return unclassified(NOT_A_LIST);
  return notAcceptable(`you requested PartialObjectMetadataList, but the requested object is not a list (${formatGoType(kind, '')})`);
}

function notAcceptable(message: string): Error {
  return statusError('NotAcceptable', message);
}

/** Returns the Go type of an object or of its list for messages. */
function formatGoType(kind: VirtualKind, suffix: '' | 'List'): string {
  return kind.builtIn ? `*${kind.group.split('.')[0] || 'core'}.${kind.kind}${suffix}` : `*unstructured.Unstructured${suffix}`;
}
