// Times as Go parses and prints them.

/** metav1.Time: an RFC 3339 text as whole seconds in UTC, or throws an Error with Go's message. */
export declare function parseTime(text: string): string;

/** metav1.MicroTime: six digits of fraction, in UTC, or throws an Error with Go's message. */
export declare function parseMicroTime(text: string): string;

/** An age as kubectl shows it: 16s, 5m, 3d4h, 2y. */
export declare function humanDuration(durationMs: number): string;

/** time.ParseDuration in ms, or throws an Error with Go's message. */
export declare function parseDuration(text: string): number;
