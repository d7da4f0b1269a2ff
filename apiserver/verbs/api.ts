// The context of the verbs: the API, the target of a request, and the writer.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { invalid } from '../../src/kubernetes/status.ts';
import type { Clock } from '../../src/std/clock.ts';
import type { Kind } from '../kinds/kind.ts';
import type { KindRegistry } from '../kinds/registry.ts';
import { KindStore } from '../storage/kind-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';

export interface Api extends Pick<Clock, 'now' | 'wakeAt'> {
  /** Runs background work; reports an error instead of throwing it. */
  attempt(act: () => void): void;
  readonly store: ObjectStore;
  readonly registry: KindRegistry;
  /** Returns a random number between 0 and 1. */
  random(): number;
  /** Returns five random characters for generated names. */
  nameSuffix(): string;
  /** Waits until the store has reached a future revision; rejects with 504 after a timeout. */
  waitForRevision(revision: number): Promise<void>;
  /** Sets the kind of a custom resource; undefined removes the resource. */
  serve(group: string, plural: string, kind: Kind | undefined): void;
  /** Returns the revision at which the server started to serve a kind; no watch can resume from an older revision. */
  watchableSince(kind: Kind): number;
}

/** Target of a request: a collection, an existing object or a new object. */
export interface RequestTarget {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** Subresource, such as `status`; empty for the object itself. */
  readonly subresource: string;
}

/** The writer of a request and the options of the write. */
export interface Writer {
  /** Field manager. */
  readonly manager: string;
  readonly dryRun: boolean;
  /** Throws 403 for a writer without permission to create the object. */
  readonly authorizeCreate: () => void;
  /** Adds a warning to the response. */
  readonly warn: (text: string) => void;
}

export function openStore(api: Api, kind: Kind): KindStore {
  return new KindStore(api.store, kind);
}

/** Returns the group and plural of a kind, by which errors identify the resource. */
export function toResourceName(kind: Kind): { group: string; name: string } {
  return { group: kind.group, name: kind.plural };
}

/** Throws 422 if there are errors. */
export function checkValid(kind: Kind, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  throw invalid({ group: kind.group, name: object.kind }, object.metadata.name ?? '', errors);
}
