import { describe, expect, it } from '@jest/globals';
import { type ProfilesAspect, profilesAspect } from '../../../src/sets/policy/cluster-profile.ts';
import { planSet, rolloutOf } from '../../../src/sets/policy/plan.ts';
import { desiredStatus } from '../../../src/sets/policy/status.ts';
import { formatTimestamp } from '../../../src/std/timestamp.ts';
import { NOON } from '../../support/builders.ts';
import { aSet } from '../set-builder.ts';

const BEFORE = formatTimestamp(NOON - 60_000);
const PUBLISHED = { type: 'ClusterProfilesPublished', ...profilesAspect('Published'), lastTransitionTime: BEFORE } as const;

/** Returns the condition ClusterProfilesPublished that follows `PUBLISHED`. */
function conditionFor(profiles: ProfilesAspect | 'none' | undefined) {
  const set = aSet({ status: { conditions: [PUBLISHED] } });
  const observation = { set, members: [], surplus: [] };
  const rollout = rolloutOf(set, formatTimestamp(NOON));
  const removal = { type: 'allowed', isConfirmed: false } as const;
  const status = desiredStatus({ observation, plan: planSet(observation, rollout, NOON), rollout, removal, profiles }, NOON);
  return status.conditions?.find(({ type }) => type === PUBLISHED.type);
}

describe('condition ClusterProfilesPublished of a ManagedTokenSet', () => {
  it('stays as it is after a run that could not determine it', () => {
    expect(conditionFor(undefined)).toEqual(PUBLISHED);
  });

  it('is removed from a set without ClusterProfiles', () => {
    expect(conditionFor('none')).toBeUndefined();
  });

  it('changes its transition time with its status', () => {
    expect(conditionFor(profilesAspect('CustomResourceMissing'))).toMatchObject({
      status: 'False',
      reason: 'CustomResourceMissing',
      lastTransitionTime: formatTimestamp(NOON),
    });
    expect(conditionFor(profilesAspect('Published'))?.lastTransitionTime).toBe(BEFORE);
  });
});
