// The context of all verbs: the API, the target of a request, and the writer.

import type { FieldError } from '../../src/kubernetes/field-error.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import { invalid } from '../../src/kubernetes/status.ts';
import type { Clock } from '../../src/std/clock.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Registry } from '../kinds/registry.ts';
import { KindStore } from '../storage/kind-store.ts';
import type { ObjectStore } from '../storage/object-store.ts';

export interface Api extends Pick<Clock, 'now' | 'wakeAt'> {
  /** Does what no caller waits for; what it throws is reported, and goes no further. */
  attempt(act: () => void): void;
  readonly store: ObjectStore;
  readonly registry: Registry;
  /** Between 0 and 1. */
  random(): number;
  /** Five random characters for generated names. */
  nameSuffix(): string;
  /** Resolves once the store has reached a revision; rejects with 504 when that takes too long. */
  reached(revision: number): Promise<void>;
  /** Makes `kinds`, one per version, all that is served of a resource that comes from a definition. */
  serve(group: string, plural: string, kinds: readonly Kind[]): void;
  /** The revision since when changes of a kind are remembered: watches cannot go back further. */
  watchableSince(kind: Kind): number;
}

/** The object, or the place for one, that a request names. */
export interface Target {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  /** `status`, or empty for the object itself. */
  readonly subresource: string;
}

/** The writer of a request and its options. */
export interface Writer {
  /** The name under which fields are owned. */
  readonly manager: string;
  readonly dryRun: boolean;
  /** Refuses, by throwing, writers who may change what exists but not create what does not. */
  readonly checkMayCreate: () => void;
  /** Adds a warning to the response. */
  readonly warn: (text: string) => void;
}

export function storeOf(api: Api, kind: Kind): KindStore {
  return new KindStore(api.store, kind);
}

/** A kind in errors about one of its objects or its collection: `secrets`. */
export function resourceName(kind: Kind): { group: string; name: string } {
  return { group: kind.group, name: kind.plural };
}

/** A kind in errors about what an object holds: `Secret`. */
export function kindName(kind: Kind): { group: string; name: string } {
  return { group: kind.group, name: kind.kind };
}

/** Rejects an object that breaks its kind's rules. */
export function checkValid(kind: Kind, object: KubeObject, errors: readonly FieldError[]): void {
  if (errors.length === 0) return;
  const group = kind.builtIn ? kind.group : groupOf(object);
  throw invalid({ group, name: object.kind }, object.metadata.name ?? '', errors);
}

/** The group that an object names, which need not be that of its kind. */
function groupOf({ apiVersion }: KubeObject): string {
  return apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '';
}
