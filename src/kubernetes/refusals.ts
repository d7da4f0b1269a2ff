// The refusals of built-in routes.

import { type StatusError, statusError } from './status.ts';

/** The path leads nowhere, whatever the method. */
export function noRoute(): StatusError {
  return statusError('NotFound', 'the server could not find the requested resource', {});
}

/** The path is known, the method is not. */
export function noMethod(): StatusError {
  return statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}
