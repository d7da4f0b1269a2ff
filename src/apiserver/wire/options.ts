// The query parameters of requests: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions and ListOptions.

import type { FieldValidation } from './decode.ts';

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
}

export interface PatchOptions extends WriteOptions {
  readonly force: boolean;
}

export type PropagationPolicy = 'Orphan' | 'Background' | 'Foreground';

export interface DeleteOptions {
  readonly dryRun: boolean;
  readonly gracePeriodSeconds?: number;
  readonly orphanDependents?: boolean;
  readonly propagationPolicy?: PropagationPolicy;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface ListOptions {
  readonly labelSelector: string;
  readonly fieldSelector: string;
  readonly watch: boolean;
  readonly allowWatchBookmarks: boolean;
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly timeoutSeconds?: number;
  readonly limit: number;
  readonly continue: string;
  readonly sendInitialEvents?: boolean;
}

/** CreateOptions or UpdateOptions of a query, or throws a StatusError (400, 422). */
export declare function writeOptions(query: URLSearchParams, kind: 'CreateOptions' | 'UpdateOptions'): WriteOptions;

/** PatchOptions of a query, or throws a StatusError (400, 422). `apply` is whether the patch is an apply patch. */
export declare function patchOptions(query: URLSearchParams, apply: boolean): PatchOptions;

/** ListOptions of a query, or throws a StatusError (400): only parsed, see validateListOptions. */
export declare function listOptions(query: URLSearchParams): ListOptions;

/** Refuses combinations of list options that contradict each other (422), and makes the rewrite of a plain watch explicit. */
export declare function validateListOptions(options: ListOptions): ListOptions;

/** The `timeout` of a request in ms, at most 60 s, or throws a StatusError (400). */
export declare function requestTimeoutMs(query: URLSearchParams): number;

/** Who writes: the fieldManager option, or what stands before the first slash of the User-Agent. */
export declare function fieldManagerName(fieldManager: string, userAgent: string | undefined): string;
