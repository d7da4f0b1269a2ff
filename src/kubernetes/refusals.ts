// Error responses for unknown paths and methods.

import { type StatusError, statusError } from './status.ts';

/** Returns the 404 for an unknown path. */
export function noRoute(): StatusError {
  return statusError('NotFound', 'the server could not find the requested resource', {});
}

/** Returns the 405 for a known path. */
export function noMethod(): StatusError {
  return statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}
