// Syntax of bearer tokens.

/** Returns whether the text is a valid bearer token (RFC 6750), which also needs no escaping in JSON or YAML. */
export function isBearerToken(text: string): boolean {
  return BEARER.test(text);
}

/** Pattern of a bearer token. */
export const BEARER_TOKEN = '^[A-Za-z0-9_.~+/-]+=*$';
const BEARER = new RegExp(BEARER_TOKEN);
