// Who a request says that it comes from, as far as its headers are concerned. Whatever is not plain is refused.

import { isBearerToken } from '../kubernetes/bearer-token.ts';
import { badRequest } from '../kubernetes/status.ts';

/**
 * The bearer token of a request, from its headers as they came (name, value, name, value…); undefined for what is none.
 * Throws 400 for two of them, and for somebody with a token who says to be somebody else.
 */
export function bearerToken(rawHeaders: readonly string[]): string | undefined {
  let authorization: string | undefined;
  let assumed: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    if (name === 'authorization') {
      if (authorization !== undefined) throw badRequest('the request has more than one Authorization header');
      authorization = rawHeaders[index + 1] ?? '';
    } else if (isAssumedIdentity(name)) assumed ??= name;
  }
  const token = tokenOf(authorization ?? '');
  if (token !== undefined && assumed !== undefined) throw badRequest(`the header ${assumed} is not supported`);
  return token;
}

function isAssumedIdentity(name: string): boolean {
  return name.startsWith('impersonate-') || name.startsWith('x-remote-');
}

/** One space, and nothing behind the token. */
function tokenOf(authorization: string): string | undefined {
  const token = /^bearer ([^ ]+)$/i.exec(authorization)?.[1];
  return token !== undefined && isBearerToken(token) ? token : undefined;
}
