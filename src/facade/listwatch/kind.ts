// The description of a kind that the façade lists: its path and names, its public form, and who sees which of its objects.

import type { Subscription } from 'rxjs';
import type { User } from '../../access/user.ts';
import type { Visibility } from '../../access/visibility.ts';
import type { ApiObject } from '../../api/resources.ts';
import type { Informer } from '../../kube/informer.ts';
import type { SelectableKind, ShownKind } from '../../kubernetes/kind.ts';

/** Path and names of a list. */
export interface Listing {
  /** Path of the list, such as `/auth/v1/clusters`; one object has its name below it. */
  readonly path: string;
  /** Plural name in lower case, for messages. */
  readonly plural: string;
  readonly kind: ShownKind & SelectableKind;
}

/** A kind that is listed and watched. A further filtered list needs one more of these, and an informer. */
export interface ListedKind<T> extends Listing {
  /** Returns the public form of an object: an allow-list of its fields. Nothing else of the object is kept. */
  readonly toPublic: (object: T) => PublicObject;
  /** Returns the approximate size of the public form in memory, in bytes. */
  readonly weightOf: (object: T) => number;
  readonly access: Access;
}

/** An object as callers see it. */
export interface PublicObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ApiObject['metadata'];
  readonly [field: string]: unknown;
}

/** Decides which objects of a kind each caller may see. */
export interface Access {
  /** Returns the visibility of a caller now. Throws 503 if the hub does not review it. */
  visibleTo(user: User): Promise<Visibility>;
  /** Returns the visibility of a caller whom `visibleTo` has just reviewed, without a request to the hub. */
  visibleNow(user: User): Visibility;
  /** Calls back on every change of a caller's visibility, until the returned function is called. */
  follow(user: User, onVisibility: OnVisibility): () => void;
  /** Follows the permissions on the hub until unsubscribed. */
  run(): Subscription;
}

/** Receives the visibility that applies from now on. */
export type OnVisibility = (now: Visibility) => void;

/** The part of an informer that follows its collection. */
export type Followed<T extends ApiObject> = Pick<Informer<T>, 'store' | 'batches$'>;
