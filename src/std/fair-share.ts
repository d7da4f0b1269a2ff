// Fair shares of a limited resource.

/**
 * Returns whether a tenant that holds `held` units may take one of the `free` units. A tenant may hold at most `share` times as many
 * units as are free, so that a new tenant always finds a free unit: a single tenant holds at most half of all units with a share of 1,
 * and 8/9 with a share of 8.
 */
export function mayTake(held: number, free: number, share = 1): boolean {
  return free > 0 && (held === 0 || held < share * free);
}
