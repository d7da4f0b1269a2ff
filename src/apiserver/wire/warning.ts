// The Warning headers of an answer (RFC 7234, code 299).

/** The header values for these warnings: each text once, within the budget of 4096 characters. */
export declare function warningHeaders(texts: readonly string[]): string[];
