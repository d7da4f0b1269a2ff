// Resource versions in list, get and watch requests, and the errors for versions that are not available.

import { quoteGoString } from '../std/go-text.ts';
import { badRequest, expired, StatusError, statusError } from './status.ts';
import { type ContinueToken, decodeContinue, encodeContinueAtLatest } from './wire/continue-token.ts';
import type { ListOptions } from './wire/options.ts';

/** Parses the resourceVersion of a list request; 0 if it is absent. Throws 400 if it is invalid. */
export function parseListVersion(options: ListOptions): bigint {
  return parseRequestedVersion(options.resourceVersion, (message) => badRequest(`invalid resource version: ${message}`));
}

/** Parses the resourceVersion of a get or watch request; 0 if empty. Throws the error of `reject`, by default 400, if it is invalid. */
export function parseRequestedVersion(text: string, reject: (message: string) => StatusError = badRequest): bigint {
  const isNumber = /^\d*$/.test(text);
  if (isNumber && BigInt(text) <= MAX_UINT64) return BigInt(text);
  const problem = `strconv.ParseUint: parsing ${quoteGoString(text)}: ${isNumber ? 'value out of range' : 'invalid syntax'}`;
  throw reject(`resourceVersion: Invalid value: ${quoteGoString(text)}: ${problem}`);
}

/** Returns whether a watch starts with the existing objects. Without `sendInitialEvents`, it does if resourceVersion is empty or 0. */
export function hasInitialEvents({ sendInitialEvents, resourceVersion }: ListOptions): boolean {
  return sendInitialEvents ?? parseRequestedVersion(resourceVersion) === 0n;
}

const MAX_UINT64 = 2n ** 64n - 1n;

/**
 * Parses the continue token of a list; undefined for a new list. Throws 400 if the token is invalid or combined with a resourceVersion
 * other than 0.
 */
export function parseContinueToken(options: ListOptions): ContinueToken | undefined {
  if (options.continue === '') return undefined;
  const token = decodeContinue(options.continue);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  return token;
}

/**
 * Returns whether a list at a version other than 0 must be at exactly that version: with `resourceVersionMatch=Exact`, or with a limit and
 * without resourceVersionMatch. A limit is ignored for a list that names one object.
 */
export function requiresExactVersion(
  { resourceVersionMatch, limit }: ListOptions,
  { isOneObject }: { readonly isOneObject: boolean },
): boolean {
  return resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && limit > 0 && !isOneObject);
}

/** Returns the maximum number of objects in a page; 0 for all. As in Kubernetes, a list at version 0 ignores the limit. */
export function computePageLimit({ resourceVersion, limit }: ListOptions): number {
  return resourceVersion === '0' || limit < 0 ? 0 : limit;
}

/** Returns the error for a version that the server has not reached yet. */
export function versionTooLarge(requested: number | bigint, current: number | string): StatusError {
  return statusError('Timeout', `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

/** Returns the error for a list at an expired version. */
export function listExpired(): StatusError {
  return expired('The resourceVersion for the provided list is too old.');
}

/** Returns the error for a page at an expired version. The error contains a token for the remaining objects at the latest version. */
export function continueTokenExpired(token: ContinueToken): StatusError {
  return new StatusError({ ...expired(TOO_OLD_TO_CONTINUE).status, metadata: { continue: encodeContinueAtLatest(token) } });
}

const TOO_OLD_TO_CONTINUE =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
