// The object that a TokenRequest binds its token to.

import { goQuote } from '../std/go-text.ts';
import { pathSegmentProblems } from './names.ts';
import { badRequest, conflict } from './status.ts';
import type { BoundObjectReference } from './token-request.ts';

/** Throws 400 unless the reference is to one of these kinds of the core group. */
export function checkBoundKind({ kind = '', apiVersion = '' }: BoundObjectReference, kinds: readonly string[]): void {
  const { group, version } = groupVersion(apiVersion);
  if (group !== '' || !kinds.includes(kind)) throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${kind}`);
}

/** Throws 400 for a name that no object can have. */
export function checkObjectName(name: string): void {
  if (name === '') throw badRequest('Name parameter required.');
  const problems = pathSegmentProblems(name);
  if (problems.length > 0) throw badRequest(`Name parameter invalid: ${goQuote(name)}: ${problems.join(';')}`);
}

/** Identity of an object to which a token can be bound. */
export interface BoundObject {
  readonly uid: string;
  /** Service account of a Pod. */
  readonly serviceAccountName: string;
}

/** Throws 400 for a Pod of a different service account, and 409 for an object with a different UID than the reference. */
export function checkBoundObject(
  { kind = '', name = '', uid = '' }: BoundObjectReference,
  object: BoundObject,
  serviceAccountName: string,
): void {
  if (kind === 'Pod' && object.serviceAccountName !== serviceAccountName) {
    throw badRequest(
      `cannot bind token for serviceaccount ${goQuote(serviceAccountName)} to pod running with different serviceaccount name.`,
    );
  }
  if (uid === '' || uid === object.uid) return;
  const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
  throw conflict({ group: '', name: kind }, name, why);
}

/** Treats an unparsable apiVersion as the core group. */
function groupVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const parts = apiVersion.split('/');
  if (parts.length === 1) return { group: '', version: apiVersion };
  const [group = '', version = ''] = parts.length === 2 ? parts : [];
  return { group, version };
}
