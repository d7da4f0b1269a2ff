// What a bearer token can be, whoever made it.

/** Whether the text can stand behind `Bearer` (RFC 6750). It then needs no escaping in JSON or YAML either. */
export function isBearerToken(text: string): boolean {
  return BEARER.test(text);
}

const BEARER = /^[\w.~+/-]+=*$/;
