import { describe, expect, it } from '@jest/globals';
import { type OrphanSource, TrackedAnchors } from '../../src/tokens/tracked-anchors.ts';

describe('TrackedAnchors', () => {
  function reportsOf(source: OrphanSource): number {
    const anchors = new TrackedAnchors();
    const report = (location: string) => {
      if (!anchors.isUnreportedOrphan(location, source)) return false;
      anchors.recordOrphanReport(location, source);
      return !anchors.isUnreportedOrphan(location, source);
    };
    return Array.from({ length: 40 }, (_, index) => report(`cluster/${index}`)).filter(Boolean).length;
  }

  it('reports every orphaned anchor that Purser recorded, each once', () => expect(reportsOf('recorded')).toBe(40));

  it('reports at most 16 anchors that the Secret claims, because tenants can claim any number', () =>
    expect(reportsOf('claimed')).toBe(16));
});
