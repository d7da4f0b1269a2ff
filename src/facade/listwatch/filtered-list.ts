// The description of a filtered list of the façade: its kind and path, the public form of its objects, and the access to them.

import type { Subscription } from 'rxjs';
import type { User } from '../../access/user.ts';
import type { Visibility } from '../../access/visibility.ts';
import type { ApiObject } from '../../api/resources.ts';
import type { Informer } from '../../kube/informer.ts';
import type { SelectableKind, ServedKind } from '../../kubernetes/kind.ts';
import type { OpenApiSchema } from '../openapi-schemas.ts';

/** The public description of a list. */
export interface Listing {
  /** Plural name in lower case, for paths and messages. */
  readonly plural: string;
  readonly kind: ServedKind & SelectableKind;
  /** OpenAPI schema of the public form. */
  readonly schema: OpenApiSchema;
}

/** Returns the path of the list in one namespace; of the list of all objects if the namespace is empty. */
export function listPath({ plural }: Pick<Listing, 'plural'>, namespace: string): string {
  return namespace === '' ? `${ROOT}/${plural}` : `${ROOT}/namespaces/${namespace}/${plural}`;
}

const ROOT = '/auth/v1';

/** A filtered list of objects of the type `T` on the hub. */
export interface FilteredList<T> extends Listing {
  /** Returns the public form of an object: an allow-list of its fields. Other fields are not kept. */
  readonly toPublic: (object: T) => PublicObject;
  /** Returns the approximate size of the public form in memory, in bytes. */
  readonly weightOf: (object: T) => number;
  readonly access: Access;
}

/** The public form of an object. */
export interface PublicObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ApiObject['metadata'];
  readonly [field: string]: unknown;
}

/** Decides the objects that each caller may see. */
export interface Access {
  /** Returns the current visibility of a caller. Throws 503 if the review fails. */
  visibleTo(user: User): Promise<Visibility>;
  /** Returns the visibility of a caller without a request to the hub. `visibleTo` must have been called just before. */
  visibleNow(user: User): Visibility;
  /** Calls `onVisibility` on every change of a caller's visibility, until the returned function is called. */
  follow(user: User, onVisibility: OnVisibility): () => void;
  /** Follows the permissions on the hub until unsubscribed. */
  run(): Subscription;
}

/** Receives the new visibility. */
export type OnVisibility = (now: Visibility) => void;

/** The part of an informer that lists use. */
export type Followed<T extends ApiObject> = Pick<Informer<T>, 'store' | 'batches$'>;
