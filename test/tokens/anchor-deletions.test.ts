import { describe, expect, it } from '@jest/globals';
import { IssueError } from '../../src/targets/issue-error.ts';
import { AnchorDeletions, AnchorsPendingError, SLOT_WAIT_MS } from '../../src/tokens/anchor-deletions.ts';
import type { AnchorEntry } from '../../src/tokens/policy/anchors.ts';

function entryIn(cluster: string): AnchorEntry {
  return { cluster, namespace: 'deploy', serviceAccount: 'deployer', clusterUID: 'u', credential: 'c' };
}

const [HERE, ELSEWHERE] = [entryIn('x'), entryIn('y')];

describe('AnchorDeletions', () => {
  it('returns the failures once all deletions have a result', () => {
    const deletions = new AnchorDeletions();
    const error = new IssueError('ClusterTimeout');
    deletions.request(ELSEWHERE, 'lane', 0);
    expect(deletions.start('lane', () => true)).toEqual([ELSEWHERE]);
    deletions.begin([HERE]);
    deletions.finish(HERE, undefined);
    expect(() => deletions.takeFailures([HERE, ELSEWHERE], 0)).toThrow(AnchorsPendingError);
    deletions.finish(ELSEWHERE, error);

    expect(deletions.takeFailures([HERE, ELSEWHERE], 0)).toEqual([{ entry: ELSEWHERE, error }]);
    expect(deletions.has(ELSEWHERE)).toBe(false);
  });

  it('throws AnchorsPendingError for a deletion that was dropped because its cluster changed lanes', () => {
    const deletions = new AnchorDeletions();
    deletions.request(ELSEWHERE, 'lane', 0);
    deletions.begin([HERE]);
    deletions.finish(HERE, undefined);
    expect(deletions.start('lane', () => false)).toEqual([]);

    expect(() => deletions.takeFailures([HERE, ELSEWHERE], 0)).toThrow(AnchorsPendingError);
  });

  it('throws AnchorsPendingError for a deletion that started and was abandoned', () => {
    const deletions = new AnchorDeletions();
    deletions.request(ELSEWHERE, 'lane', 0);
    deletions.abandon(deletions.start('lane', () => true));

    expect(() => deletions.takeFailures([ELSEWHERE], 0)).toThrow(AnchorsPendingError);
  });

  it('starts no deletion in its lane if another run has begun that deletion', () => {
    const deletions = new AnchorDeletions();
    deletions.request(HERE, 'lane', 0);
    deletions.begin([HERE]);
    expect(deletions.start('lane', () => true)).toEqual([]);
  });

  it('ignores a second result of a deletion after the first one was taken', () => {
    const deletions = new AnchorDeletions();
    deletions.begin([HERE]);
    deletions.finish(HERE, undefined);
    expect(deletions.takeFailures([HERE], 0)).toEqual([]);
    deletions.finish(HERE, undefined);
    expect(deletions.has(HERE)).toBe(false);
  });

  it('returns a failure for a deletion that has waited too long for a slot', () => {
    const deletions = new AnchorDeletions();
    deletions.request(ELSEWHERE, 'lane', 0);
    expect(() => deletions.takeFailures([ELSEWHERE], SLOT_WAIT_MS - 1)).toThrow(AnchorsPendingError);

    expect(deletions.takeFailures([ELSEWHERE], SLOT_WAIT_MS)).toEqual([
      { entry: ELSEWHERE, error: expect.objectContaining({ reason: 'ClusterTimeout' }) },
    ]);
  });
});
