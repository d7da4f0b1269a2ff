// The choice among the addresses of a target: one that responds, and the preferred one again five minutes after its last failure.

/** Tracks which of several addresses works. Times are on the monotonic clock. */
export class EndpointChoice {
  readonly #servers: readonly string[];
  #active = 0;
  /** Time of the last failure of the preferred address; 0 before the first one. */
  #failedAt = 0;

  /** Creates a choice between servers in order of preference. */
  constructor(servers: readonly string[]) {
    this.#servers = servers;
  }

  /** The address in use; undefined if there is none. */
  get active(): string | undefined {
    return this.#servers[this.#active];
  }

  /** Returns the addresses to try: the active one first, or the preferred one first if its last failure was at least RETURN_MS ago. */
  order(now: number): readonly string[] {
    const isReturnDue = this.#active !== 0 && now - this.#failedAt >= RETURN_MS;
    const [preferred, active] = [this.#servers[0], this.#servers[this.#active]];
    const first = isReturnDue ? [preferred, active] : [active];
    return [...new Set([...first, ...this.#servers])].filter((server) => server !== undefined);
  }

  /** Makes the address that responded the active one. */
  recordSuccess(server: string): void {
    this.#active = this.#servers.indexOf(server);
  }

  /** Makes the next address active if the active one failed. */
  recordFailure(server: string, now: number): void {
    const index = this.#servers.indexOf(server);
    if (index === 0) this.#failedAt = now;
    if (index === this.#active) this.#active = (index + 1) % this.#servers.length;
  }
}

/** Time after the last failure of the preferred address until it is tried again, in milliseconds. */
const RETURN_MS = 300_000;
