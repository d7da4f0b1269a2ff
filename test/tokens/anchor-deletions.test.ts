import { describe, expect, it } from '@jest/globals';
import { IssueError } from '../../src/targets/issue-error.ts';
import { AnchorDeletions, AnchorsPendingError, SLOT_WAIT_MS } from '../../src/tokens/anchor-deletions.ts';
import type { AnchorEntry } from '../../src/tokens/policy/anchors.ts';

function entryIn(cluster: string): AnchorEntry {
  return { cluster, namespace: 'deploy', serviceAccount: 'deployer', clusterUID: 'u', credential: 'c' };
}

const [HERE, ELSEWHERE] = [entryIn('x'), entryIn('y')];

describe('AnchorDeletions.takeFailures', () => {
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

  it('does not count a deletion as done that was dropped because its cluster changed lanes', () => {
    const deletions = new AnchorDeletions();
    deletions.request(ELSEWHERE, 'lane', 0);
    deletions.begin([HERE]);
    deletions.finish(HERE, undefined);
    expect(deletions.start('lane', () => false)).toEqual([]);

    expect(() => deletions.takeFailures([HERE, ELSEWHERE], 0)).toThrow(AnchorsPendingError);
  });

  it('does not count a deletion as done that started and was abandoned', () => {
    const deletions = new AnchorDeletions();
    deletions.request(ELSEWHERE, 'lane', 0);
    deletions.abandon(deletions.start('lane', () => true));

    expect(() => deletions.takeFailures([ELSEWHERE], 0)).toThrow(AnchorsPendingError);
  });

  it('does not send a deletion in its lane that another run sends already', () => {
    const deletions = new AnchorDeletions();
    deletions.request(HERE, 'lane', 0);
    deletions.begin([HERE]);
    expect(deletions.start('lane', () => true)).toEqual([]);
  });

  it('ignores the result of a deletion whose result was taken', () => {
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
