// Syntax of bearer tokens.

/** Returns whether the text is a valid bearer token (RFC 6750). A valid token needs no escaping in a quoted JSON or YAML string. */
export function isBearerToken(text: string): boolean {
  return BEARER.test(text);
}

/** Pattern of a bearer token. */
export const BEARER_TOKEN_PATTERN = '^[A-Za-z0-9_.~+/-]+=*$';
const BEARER = new RegExp(BEARER_TOKEN_PATTERN);
