// Content negotiation: which representation a request asks for, and which one its body is in.

export type MediaType = 'json' | 'yaml';

/** What an object is turned into before it is written. */
export interface Conversion {
  readonly kind: 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';
  readonly version: string;
}

export interface Representation {
  readonly mediaType: MediaType;
  readonly contentType: string;
  readonly pretty: boolean;
  readonly as?: Conversion;
}

/** The parts of a request that decide its representation. */
export interface Preferences {
  readonly accept: string | undefined;
  readonly userAgent: string | undefined;
  /** The `pretty` query parameter. */
  readonly pretty: string | undefined;
}

export interface Endpoint {
  /** Built-in kinds are routed by go-restful, which knows only exact media types. */
  readonly builtIn: boolean;
  /** Whether objects can be had as Table and PartialObjectMetadata. */
  readonly converts: boolean;
}

/** Chooses the representation of an answer, or throws a StatusError (406). */
export declare function negotiate(preferences: Preferences, endpoint: Endpoint): Representation;

/** Chooses the representation of a watch, or throws a StatusError (406). */
export declare function negotiateWatch(preferences: Preferences, endpoint: Endpoint): Representation;

/** The representation of an error: conversions are ignored, and what cannot be satisfied is indented JSON. */
export declare function negotiateError(preferences: Preferences): Representation;

/** The media type of a request body, or throws a StatusError (415). */
export declare function bodyMediaType(contentType: string | undefined): MediaType;

export type PatchType =
  | 'application/json-patch+json'
  | 'application/merge-patch+json'
  | 'application/strategic-merge-patch+json'
  | 'application/apply-patch+yaml';

/** The kind of a patch, or throws a StatusError (415). */
export declare function patchType(contentType: string | undefined, builtIn: boolean): PatchType;
