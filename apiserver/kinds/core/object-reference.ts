// References to other objects, which several kinds hold.

import { struct, text, UID } from '../../../src/kubernetes/schema/go-struct.ts';
import type { Schema } from '../../../src/kubernetes/schema/schema.ts';

/** core/v1 ObjectReference as objects hold it. */
export interface ObjectReference {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly uid?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
  readonly fieldPath?: string;
}

export const OBJECT_REFERENCE: Schema = struct(
  'v1.ObjectReference',
  { kind: text(), namespace: text(), name: text(), uid: UID, apiVersion: text(), resourceVersion: text(), fieldPath: text() },
  { 'x-kubernetes-map-type': 'atomic' },
);

export const LOCAL_OBJECT_REFERENCE: Schema = struct('v1.LocalObjectReference', { name: text() }, { 'x-kubernetes-map-type': 'atomic' });
