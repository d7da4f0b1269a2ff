// The limits on HTTP/2 connections, per source address and in total. At a limit, a connection without a recent authenticated request is
// closed in favor of a new one, so that idle clients cannot force others to use HTTP/1.1.

/** A connection that the limits apply to. */
export interface LimitedConnection {
  /** Key under which limits count the source address. */
  readonly address: string;
  /** True for a connection that may be closed in favor of another one. */
  readonly canGiveWay: boolean;
  /** Stops accepting requests, and closes the connection soon, even if requests are in progress. */
  readonly close: () => void;
}

/** Maximum numbers of connections. Eight addresses together can reach the total. */
const MAX_PER_ADDRESS = 32;
const MAX_TOTAL = 256;

export class Http2Limit {
  /** Connections by source address, the oldest first. */
  readonly #byAddress = new Map<string, Set<LimitedConnection>>();
  #total = 0;

  /** Returns true if `add` would admit a connection from this address. */
  hasRoom(address: string): boolean {
    return !this.#isFull(address) || this.#findReplaceable(address) !== undefined;
  }

  /** Adds a connection. At a limit, first closes a connection that can give way; returns false if no connection can. */
  add(connection: LimitedConnection): boolean {
    const { address } = connection;
    if (this.#isFull(address)) {
      const replaced = this.#findReplaceable(address);
      if (replaced === undefined) return false;
      this.remove(replaced);
      replaced.close();
    }
    const connections = this.#byAddress.get(address) ?? new Set();
    this.#byAddress.set(address, connections.add(connection));
    this.#total += 1;
    return true;
  }

  /** Removes a connection. Does nothing for a connection that has given way. */
  remove(connection: LimitedConnection): void {
    const connections = this.#byAddress.get(connection.address);
    if (connections?.delete(connection) !== true) return;
    this.#total -= 1;
    if (connections.size === 0) this.#byAddress.delete(connection.address);
  }

  #isFull(address: string): boolean {
    return this.#total >= MAX_TOTAL || this.#isAddressFull(address);
  }

  #isAddressFull(address: string): boolean {
    return (this.#byAddress.get(address)?.size ?? 0) >= MAX_PER_ADDRESS;
  }

  /**
   * Returns the oldest connection that can give way: of this address if it has reached its limit, otherwise of the address with the most
   * connections that can give way. Returns undefined if there is none.
   */
  #findReplaceable(address: string): LimitedConnection | undefined {
    if (this.#isAddressFull(address)) return filterReplaceable(this.#byAddress.get(address))[0];
    let most: readonly LimitedConnection[] = [];
    for (const connections of this.#byAddress.values()) {
      const replaceable = filterReplaceable(connections);
      if (replaceable.length > most.length) most = replaceable;
    }
    return most[0];
  }
}

function filterReplaceable(connections: Iterable<LimitedConnection> = []): readonly LimitedConnection[] {
  return [...connections].filter(({ canGiveWay }) => canGiveWay);
}
