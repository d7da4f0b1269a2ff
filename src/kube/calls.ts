// What the verbs of KubeClient are given, and what they give back.

/** What every call may be given. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
}

export interface WriteOptions extends CallOptions {
  readonly dryRun?: boolean;
}

export interface Selection {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection, CallOptions {
  readonly limit?: number;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan';
}

export interface WatchOptions extends Selection, CallOptions {
  readonly resourceVersion?: string;
  /** Asks for all present objects first (WatchList), ended by a bookmark that says so. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds: number;
  /** A watch without a byte for this long is taken for dead. */
  readonly idleMs: number;
}

export interface DeleteOptions extends WriteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan';
}

/** One page of a list. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Asks for the next page; undefined on the last. */
  readonly continue?: string;
}

/** A merge patch (an object) or a JSON patch (a list of operations). */
export type Patch = Readonly<Record<string, unknown>> | readonly Readonly<Record<string, unknown>>[];
