// The object that a token is to be bound to.

import { badRequest, conflict } from '../../api/status.ts';
import type { KubeObject } from '../../apimachinery/object.ts';
import { goQuote } from '../../std/go-text.ts';
import type { ObjectSource } from '../access/object-source.ts';
import { type BoundClaims, type ClaimedObject, claimedObject } from '../access/service-account-claims.ts';
import { storedObject } from './stored-object.ts';

export interface BoundObjectReference {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly name?: string;
  readonly uid?: string;
}

/** What a token of `account` is bound to by a reference. Throws a StatusError if there can be none. */
export function boundObject(
  { kind = '', apiVersion = '', name = '', uid = '' }: BoundObjectReference,
  account: { readonly namespace: string; readonly name: string },
  objects: ObjectSource,
): BoundClaims {
  const type = TYPES.get(kind);
  const { group, version } = groupVersion(apiVersion);
  if (group !== '' || type === undefined) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
  const object = storedObject(objects, `${type}s`, type === 'node' ? '' : account.namespace, name);
  const node = type === 'pod' ? nodeOfPod(object, account.name, objects) : undefined;
  if (uid !== '' && uid !== object.metadata.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: '', name: kind }, name, why);
  }
  return { [type]: claimedObject(object), ...(node && { node }) };
}

const TYPES: ReadonlyMap<string, 'pod' | 'secret' | 'node'> = new Map([
  ['Pod', 'pod'],
  ['Secret', 'secret'],
  ['Node', 'node'],
]);

interface Pod extends KubeObject {
  readonly spec?: { readonly serviceAccountName?: string; readonly nodeName?: string };
}

/** The node on which a Pod of this account runs, if it runs; by name alone if the node is not registered. */
function nodeOfPod(object: KubeObject, account: string, objects: ObjectSource): ClaimedObject | undefined {
  const { spec: { serviceAccountName = '', nodeName = '' } = {} }: Pod = object;
  if (serviceAccountName !== account) {
    throw badRequest(`cannot bind token for serviceaccount ${goQuote(account)} to pod running with different serviceaccount name.`);
  }
  if (nodeName === '') return undefined;
  const node = objects.get('', 'nodes', '', nodeName);
  return node === undefined ? { name: nodeName } : claimedObject(node);
}

/** What cannot be parsed counts as the core group. */
function groupVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const parts = apiVersion.split('/');
  if (parts.length === 1) return { group: '', version: apiVersion };
  const [group = '', version = ''] = parts.length === 2 ? parts : [];
  return { group, version };
}
