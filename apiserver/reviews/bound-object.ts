// The object that a token is to be bound to, among those that are stored.

import { checkBoundKind, checkBoundObject } from '../../src/kubernetes/bound-object.ts';
import type { KubeObject } from '../../src/kubernetes/object.ts';
import type { BoundObjectReference } from '../../src/kubernetes/token-request.ts';
import type { ObjectSource } from '../access/policy.ts';
import { type BoundClaims, type ClaimedObject, claimedObject } from '../access/service-account-tokens.ts';
import { storedObject } from './stored-object.ts';

/** What a token of `account` is bound to by a reference. Throws a StatusError if there can be none. */
export function boundObject(
  reference: BoundObjectReference,
  account: { readonly namespace: string; readonly name: string },
  objects: ObjectSource,
): BoundClaims {
  checkBoundKind(reference, KINDS);
  const { kind = '', name = '' } = reference;
  const type = kind.toLowerCase() as keyof BoundClaims;
  const object = storedObject(objects, `${type}s`, type === 'node' ? '' : account.namespace, name);
  const { serviceAccountName = '', nodeName = '' } = (object as Pod).spec ?? {};
  checkBoundObject(reference, { uid: object.metadata.uid ?? '', serviceAccountName }, account.name);
  const node = type === 'pod' ? nodeOfPod(nodeName, objects) : undefined;
  return { [type]: claimedObject(object), ...(node && { node }) };
}

const KINDS = ['Pod', 'Secret', 'Node'];

interface Pod extends KubeObject {
  readonly spec?: { readonly serviceAccountName?: string; readonly nodeName?: string };
}

/** The node on which a Pod runs, if it runs; by name alone if the node is not registered. */
function nodeOfPod(nodeName: string, objects: ObjectSource): ClaimedObject | undefined {
  if (nodeName === '') return undefined;
  const node = objects.get('', 'nodes', '', nodeName);
  return node === undefined ? { name: nodeName } : claimedObject(node);
}
