// Tokens in text and their claims. Independent of Purser's code.

export interface Claims {
  readonly sub?: string;
  readonly aud?: readonly string[];
  readonly iat?: number;
  readonly exp?: number;
  readonly 'kubernetes.io'?: { readonly secret?: { readonly name?: string; readonly uid?: string } };
}

/** Returns every JWT in a string, each once. */
export function findTokens(text: string): readonly string[] {
  return [...new Set(text.match(/eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g) ?? [])];
}

/** Decodes the claims of a JWT; empty for any other string. */
export function decodeClaims(token: string): Claims {
  try {
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Claims & { readonly aud?: unknown };
    return { ...claims, aud: typeof claims.aud === 'string' ? [claims.aud] : Array.isArray(claims.aud) ? claims.aud : [] };
  } catch {
    return {};
  }
}

/** Returns the name of the Secret that a token is bound to, or undefined. */
export function readBoundSecret(token: string): string | undefined {
  return decodeClaims(token)['kubernetes.io']?.secret?.name;
}
