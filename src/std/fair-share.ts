// Shares of something limited that several tenants use.

/**
 * Returns whether a tenant may take one more, of which `free` are left. It holds at most `share` times what is free, so that a newcomer
 * always finds one: a single tenant holds half of all with a share of 1, and 8/9 with a share of 8.
 */
export function mayTake(held: number, free: number, share = 1): boolean {
  return free > 0 && (held === 0 || held < share * free);
}
