// Memory of the controller about the anchors of one ManagedToken.

import { AnchorDeletions } from './anchor-deletions.ts';
import { MAX_ANCHORS } from './policy/anchors.ts';

/**
 * Source of the location of an orphaned anchor: `recorded` if Purser provably recorded it, or `claimed` if only annotations of the Secret
 * contain it, which tenants can forge.
 */
export type OrphanSource = 'recorded' | 'claimed';

/** Purser's deletions of anchors, and its reports of orphaned ones. */
export class TrackedAnchors {
  /** Deletions of anchors in the lanes of other clusters. */
  readonly deletions = new AnchorDeletions();
  /** Locations of anchors that Purser found and deleted after their Cluster or credential was replaced, so they are not orphaned. */
  readonly deleted = new Set<string>();
  /** Locations of reported anchors by source; the sources are separate because tenants can claim any number of anchors. */
  readonly #reported: Readonly<Record<OrphanSource, Set<string>>> = { recorded: new Set(), claimed: new Set() };

  /** Returns false for an anchor that was reported before, and for a claimed anchor after 16 reports of claimed ones; true otherwise. */
  isUnreportedOrphan(location: string, source: OrphanSource): boolean {
    const reported = this.#reported[source];
    return !reported.has(location) && (source === 'recorded' || reported.size < MAX_ANCHORS);
  }

  /** Records that an orphaned anchor was reported. Forgets the oldest report if there are more than 16. */
  recordOrphanReport(location: string, source: OrphanSource): void {
    const reported = this.#reported[source].add(location);
    const [oldest] = reported;
    if (reported.size > MAX_ANCHORS && oldest !== undefined) reported.delete(oldest);
  }
}
