// Content negotiation: the representation of a response.

import { type StatusError, statusError } from '../status.ts';
import { type AcceptClause, isRoutable, parseAccept } from './accept.ts';

export type MediaType = 'json' | 'yaml';

/** Conversion of an object before it is encoded. */
export interface Conversion {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly version: 'v1' | 'v1beta1';
}

export interface Representation {
  readonly mediaType: MediaType;
  /** Content-Type of the response. */
  readonly contentType: string;
  readonly pretty: boolean;
  readonly as?: Conversion;
}

/** Parts of a request that determine the representation of the response. */
export interface Preferences {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  /** The `pretty` query parameter. */
  readonly pretty: string | undefined;
}

export interface NegotiatedEndpoint {
  /** True for a built-in kind, which go-restful routes by exact media types. */
  readonly builtIn: boolean;
  /** True if the kind supports Table output. */
  readonly tables: boolean;
  /** True for a watchable collection, for which the router's error lists more media types. */
  readonly watchable?: boolean;
}

/** Media types that the server produces. */
const RESPONSE_TYPES = ['application/json', 'application/yaml'];
/** Media types in the error message of kube-apiserver for a request without an acceptable media type. */
const LISTED_TYPES = [...RESPONSE_TYPES, 'application/vnd.kubernetes.protobuf'];
const WATCH_TYPES = ['application/json;stream=watch', 'application/vnd.kubernetes.protobuf;stream=watch'];
const CONVERSION_KINDS: readonly Conversion['kind'][] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];
const MEDIA_TYPES: readonly MediaType[] = ['json', 'yaml'];

/** Chooses the representation of a response, or throws a StatusError (406). */
export function negotiate(preferences: Preferences, endpoint: NegotiatedEndpoint): Representation {
  if (endpoint.builtIn) checkRoutable(preferences.accept, endpoint.watchable ? [...LISTED_TYPES, ...WATCH_TYPES] : LISTED_TYPES);
  const allows: Allows = ({ as, serverVersion }) => {
    return ['', 'v1'].includes(serverVersion) && (as === undefined || isKnownConversion(as, endpoint));
  };
  const representation = findAcceptable(preferences, allows);
  if (representation === undefined)
    throw notAcceptable(endpoint.builtIn && acceptsProtobuf(preferences, allows) ? RESPONSE_TYPES : LISTED_TYPES);
  return representation;
}

/** Returns whether kube-apiserver would respond with protobuf. */
function acceptsProtobuf({ accept = '' }: Preferences, allows: Allows): boolean {
  return parseAccept(accept).some((clause) => clause.subtype === 'vnd.kubernetes.protobuf' && allows(parseRequestedForm(clause)));
}

/**
 * Chooses the representation of a document with a single form, or throws a StatusError (406). `isRouted` is true if kube-apiserver serves
 * the path with go-restful, which rejects an Accept header with neither one of its media types nor the full wildcard.
 */
export function negotiateDocument(preferences: Preferences, { isRouted }: { readonly isRouted: boolean }): Representation {
  if (isRouted) checkRoutable(preferences.accept, LISTED_TYPES);
  const representation = findAcceptable(preferences, isPlain);
  if (representation === undefined) throw notAcceptable(LISTED_TYPES);
  return representation;
}

/** Chooses the representation of a document in a converted form; undefined if the caller does not accept that form. */
export function negotiateConversion(preferences: Preferences, form: RequestedConversion): Representation | undefined {
  const { kind, version, group } = form;
  return findAcceptable(preferences, ({ as, serverVersion }) => {
    return serverVersion === '' && as?.kind === kind && as.version === version && as.group === group;
  });
}

/** Throws the 406 error of go-restful, which routes requests to built-in APIs, unless the caller accepts one of the media types. */
export function checkRoutable(accept: string | undefined, available: readonly string[]): void {
  if (accept === undefined || accept === '' || isRoutable(accept, available)) return;
  throw statusError('NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${available.join(', ')}`, {});
}

/** Throws a StatusError (406) unless the representation is JSON, which watches require. Call it after all other checks of the options. */
export function checkStreamable({ mediaType }: Representation): void {
  if (mediaType !== 'json') throw notAcceptable(WATCH_TYPES);
}

/** Chooses the representation of an error: never converted, and indented JSON if no requested media type is available. */
export function negotiateError(preferences: Preferences): Representation {
  return (
    findAcceptable(preferences, isPlain) ?? {
      mediaType: 'json',
      contentType: 'application/json',
      pretty: true,
    }
  );
}

/** Returns whether a response is indented: on request, or by default for curl, Wget and browsers. */
export function isPretty({ pretty = '', userAgent = '' }: Preferences): boolean {
  if (pretty !== '') return ['1', 't', 'T', 'TRUE', 'true', 'True'].includes(pretty);
  return ['curl', 'Wget', 'Mozilla/5.0'].some((prefix) => userAgent.startsWith(prefix));
}

/** Parameters of a clause of the Accept header. */
interface Requested {
  readonly as: RequestedConversion | undefined;
  readonly serverVersion: string;
}

function isPlain({ as, serverVersion }: Requested): boolean {
  return as === undefined && serverVersion === '';
}

/** Conversion that a clause of the Accept header requests; may be unknown. */
export type RequestedConversion = Readonly<Record<'kind' | 'version' | 'group', string>>;

/** Decides whether the requested form is available. */
type Allows = (requested: Requested) => boolean;

function parseRequestedForm(clause: AcceptClause): Requested {
  return { as: parseRequestedConversion(clause), serverVersion: parameterOf(clause, 'sv') };
}

function findAcceptable(preferences: Preferences, allows: Allows): Representation | undefined {
  const { accept = '' } = preferences;
  const clauses = accept === '' ? ANYTHING : parseAccept(accept);
  for (const clause of clauses) {
    const form = parseRequestedForm(clause);
    const mediaType = MEDIA_TYPES.find((each) => matches(clause, each));
    if (mediaType === undefined || !allows(form)) continue;
    const { as } = form;
    const pretty = clause.params.get('pretty') === '1' || isPretty(preferences);
    return { mediaType, contentType: `application/${mediaType}`, pretty, ...(as !== undefined && { as: as as Conversion }) };
  }
  return undefined;
}

const ANYTHING: readonly AcceptClause[] = [{ type: '*', subtype: '*', quality: 1, params: new Map() }];

function matches(clause: AcceptClause, mediaType: MediaType): boolean {
  const { type, subtype } = clause;
  const stream = parameterOf(clause, 'stream');
  if (stream !== '' && (stream !== 'watch' || mediaType === 'yaml')) return false;
  return (type === 'application' && (subtype === mediaType || subtype === '*')) || (type === '*' && subtype === '*');
}

function parseRequestedConversion(clause: AcceptClause): RequestedConversion | undefined {
  if (!['as', 'g', 'v'].some((name) => clause.params.has(name))) return undefined;
  const kind = parameterOf(clause, 'as');
  // Returns the constant, because a substring would keep the whole header in memory during a watch.
  return {
    kind: CONVERSION_KINDS.find((each) => each === kind) ?? kind,
    version: parameterOf(clause, 'v'),
    group: parameterOf(clause, 'g'),
  };
}

/** Returns a parameter of a clause; empty if absent. */
function parameterOf({ params }: AcceptClause, name: string): string {
  return params.get(name) ?? '';
}

function isKnownConversion({ kind, version, group }: RequestedConversion, { tables }: NegotiatedEndpoint): boolean {
  if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return false;
  return kind === 'PartialObjectMetadata' || kind === 'PartialObjectMetadataList' || (kind === 'Table' && tables);
}

function notAcceptable(accepted: readonly string[]): StatusError {
  return statusError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
}
