// The form in which descriptions are written down.

/** Descriptions of one family of structs. */
export type Descriptions = Readonly<Record<string, Readonly<Record<string, string>>>>;
