// Resource versions in list, get and watch requests, and the errors for versions that are not available.

import { goQuote } from '../std/go-text.ts';
import { badRequest, expired, StatusError, statusError } from './status.ts';
import { type ContinueToken, decodeContinue, encodeContinueAtLatest } from './wire/continue-token.ts';
import type { ListOptions } from './wire/options.ts';

/** Returns the requested version of a list; 0 for any. Throws 400. */
export function parseListVersion(options: ListOptions): bigint {
  return parseRequestedVersion(options.resourceVersion, (message) => badRequest(`invalid resource version: ${message}`));
}

/** Returns the requested version of a get or a watch; 0 for any. Throws the error that `reject` creates: 400 by default. */
export function parseRequestedVersion(text: string, reject: (message: string) => StatusError = badRequest): bigint {
  const isNumber = /^\d*$/.test(text);
  if (isNumber && BigInt(text) <= MAX_UINT64) return BigInt(text);
  const problem = `strconv.ParseUint: parsing ${goQuote(text)}: ${isNumber ? 'value out of range' : 'invalid syntax'}`;
  throw reject(`resourceVersion: Invalid value: ${goQuote(text)}: ${problem}`);
}

/** Returns whether a watch begins with the existing objects: on request, or from version zero, even in a form such as `00`. */
export function hasInitialEvents({ sendInitialEvents, resourceVersion }: ListOptions): boolean {
  return sendInitialEvents ?? parseRequestedVersion(resourceVersion) === 0n;
}

const MAX_UINT64 = 2n ** 64n - 1n;

/** Parses the continue token of a list; undefined for a new list. Throws 400. */
export function parseContinueToken(options: ListOptions): ContinueToken | undefined {
  if (options.continue === '') return undefined;
  const token = decodeContinue(options.continue);
  if (options.resourceVersion !== '' && options.resourceVersion !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  return token;
}

/** Returns whether the list must have exactly the requested version. A list of one named object is a get, without pages. */
export function requiresExactVersion(
  { resourceVersionMatch, limit }: ListOptions,
  { isOneObject }: { readonly isOneObject: boolean },
): boolean {
  return resourceVersionMatch === 'Exact' || (resourceVersionMatch === '' && limit > 0 && !isOneObject);
}

/** Returns the maximum number of objects of a page; 0 for all. */
export function pageLimit({ resourceVersion, limit }: ListOptions): number {
  return resourceVersion === '0' || limit < 0 ? 0 : limit;
}

/** Returns the error for a version in the future. */
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

/** Returns the error for a page at an expired version; it offers the rest at the latest version. */
export function continueTokenExpired(token: ContinueToken): StatusError {
  return new StatusError({ ...expired(TOO_OLD_TO_CONTINUE).status, metadata: { continue: encodeContinueAtLatest(token) } });
}

const TOO_OLD_TO_CONTINUE =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, ' +
  'or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an ' +
  'inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.';
