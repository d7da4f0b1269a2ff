// The limit on events that clients of watches have not read. An event is written to every watch: without a limit, the event of one large
// object would stay in memory once for each watch whose client does not read.

import type { Clock } from '../../std/clock.ts';

/** A watch that writes events. */
export interface EventWriter {
  readonly tenant: string;
  /** Writes events as far as `admit` allows. */
  pump(): void;
  /** Closes the connection or the HTTP/2 stream. */
  destroy(): void;
}

/** Limits in bytes. An event is written while the unread bytes are below the limits, even if the event then exceeds them. */
export interface UnreadEventsLimits {
  readonly perTenant: number;
  readonly total: number;
}

interface Tenant {
  bytes: number;
  readonly unread: Map<EventWriter, { readonly bytes: number; readonly since: number }>;
  readonly waiting: Set<EventWriter>;
}

const LIMITS: UnreadEventsLimits = { perTenant: 4 << 20, total: 32 << 20 };
/** Time for a client to read the events of one write, in milliseconds. While any watch waits, the watches of slower clients are closed. */
const MAX_UNREAD_MS = 10_000;

export class UnreadEvents {
  readonly #clock: Clock;
  readonly #limits: UnreadEventsLimits;
  readonly #tenants = new Map<string, Tenant>();
  #total = 0;
  #isServing = false;
  #isArmed = false;

  constructor(clock: Clock, limits: UnreadEventsLimits = LIMITS) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Returns true if a watch may write its next event. Otherwise, calls its `pump` when there is room. */
  admit(writer: EventWriter): boolean {
    if (this.#hasRoom(this.#tenants.get(writer.tenant)?.bytes ?? 0)) return true;
    this.#findOrAddTenant(writer).waiting.add(writer);
    this.#closeStalledLater();
    return false;
  }

  /** Adds the bytes of an event that the kernel has not accepted completely. */
  add(writer: EventWriter, bytes: number): void {
    const tenant = this.#findOrAddTenant(writer);
    tenant.unread.set(writer, { bytes, since: this.#clock.monotonic() });
    tenant.bytes += bytes;
    this.#total += bytes;
  }

  /** Removes the event of a watch once the kernel has accepted it, and lets waiting watches write. */
  remove(writer: EventWriter): void {
    const tenant = this.#tenants.get(writer.tenant);
    const event = tenant?.unread.get(writer);
    if (tenant === undefined || event === undefined) return;
    tenant.unread.delete(writer);
    tenant.bytes -= event.bytes;
    this.#total -= event.bytes;
    this.#forgetIfEmpty(writer.tenant, tenant);
    this.#serve();
  }

  /** Removes a watch that has ended. */
  leave(writer: EventWriter): void {
    const tenant = this.#tenants.get(writer.tenant);
    tenant?.waiting.delete(writer);
    this.remove(writer);
    if (tenant !== undefined) this.#forgetIfEmpty(writer.tenant, tenant);
  }

  #findOrAddTenant({ tenant: name }: EventWriter): Tenant {
    const known = this.#tenants.get(name);
    if (known !== undefined) return known;
    const tenant: Tenant = { bytes: 0, unread: new Map(), waiting: new Set() };
    this.#tenants.set(name, tenant);
    return tenant;
  }

  #hasRoom(tenantBytes: number): boolean {
    return tenantBytes < this.#limits.perTenant && this.#total < this.#limits.total;
  }

  #forgetIfEmpty(name: string, { unread, waiting }: Tenant): void {
    if (unread.size === 0 && waiting.size === 0) this.#tenants.delete(name);
  }

  /** Lets waiting watches write while there is room, first those of the tenant with the fewest unread bytes. */
  #serve(): void {
    if (this.#isServing) return;
    this.#isServing = true;
    for (let writer = this.#next(); writer !== undefined; writer = this.#next()) {
      this.#tenants.get(writer.tenant)?.waiting.delete(writer);
      writer.pump();
    }
    this.#isServing = false;
  }

  #next(): EventWriter | undefined {
    const [tenant] = [...this.#tenants.values()]
      .filter((each) => each.waiting.size > 0 && this.#hasRoom(each.bytes))
      .sort((a, b) => a.bytes - b.bytes);
    return tenant?.waiting.values().next().value;
  }

  #closeStalledLater(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    this.#clock.wakeAfter(MAX_UNREAD_MS / 2, () => {
      this.#isArmed = false;
      if (![...this.#tenants.values()].some(({ waiting }) => waiting.size > 0)) return;
      this.#closeStalled();
      this.#closeStalledLater();
    });
  }

  #closeStalled(): void {
    const now = this.#clock.monotonic();
    const unread = [...this.#tenants.values()].flatMap((tenant) => [...tenant.unread]);
    for (const [writer, { since }] of unread) if (now - since >= MAX_UNREAD_MS) writer.destroy();
  }
}
