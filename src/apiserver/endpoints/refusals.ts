// The refusals of built-in routes.

import { statusError } from '../../api/status.ts';

/** The path leads nowhere, whatever the method. */
export function noRoute(): Error {
  return statusError('NotFound', 'the server could not find the requested resource', {});
}

/** The path is known, the method is not. */
export function noMethod(): Error {
  return statusError('MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
}
