import { describe, expect, it } from '@jest/globals';
import { type ProfilesAspect, toProfilesAspect } from '../../../src/sets/policy/cluster-profile.ts';
import { type Member, planSet, resolveRollout } from '../../../src/sets/policy/plan.ts';
import { toDesiredStatus } from '../../../src/sets/policy/status.ts';
import { formatTimestamp } from '../../../src/std/timestamp.ts';
import { NOON } from '../../support/builders.ts';
import { aMember, aSet } from '../set-builder.ts';

const BEFORE = formatTimestamp(NOON - 60_000);
const PUBLISHED = { type: 'ClusterProfilesPublished', ...toProfilesAspect('Published'), lastTransitionTime: BEFORE } as const;

type Profiles = ProfilesAspect | 'none' | undefined;

interface Case {
  readonly profiles?: Profiles;
  readonly hasRequester?: boolean;
  readonly members?: readonly Member[];
  readonly overridden?: ReadonlySet<string>;
}

/** Returns a condition of a set after the `PUBLISHED` condition. */
function conditionOf(type: string, { profiles, hasRequester = true, members = [], overridden = new Set() }: Case) {
  const set = aSet({ status: { conditions: [PUBLISHED] } });
  const observation = { set, members, surplus: [], overridden };
  const rollout = resolveRollout(set, formatTimestamp(NOON));
  const removal = { type: 'allowed', isConfirmed: false } as const;
  const plan = planSet(observation, rollout, NOON);
  const status = toDesiredStatus({ observation, hasRequester, plan, rollout, removal, profiles }, NOON);
  return status.conditions?.find((condition) => condition.type === type);
}

const conditionFor = (profiles: Profiles) => conditionOf(PUBLISHED.type, { profiles });

describe('condition Ready of a ManagedTokenSet', () => {
  it('reports Ready=False if the requester does not exist, and True if there is no cluster', () => {
    expect(conditionOf('Ready', { hasRequester: false })).toMatchObject({
      status: 'False',
      reason: 'RequesterNotFound',
      message: 'Service account team-a/default was not found. Create it, or correct spec.template.spec.requesterServiceAccountName.',
    });
    expect(conditionOf('Ready', {})).toMatchObject({ status: 'True', reason: 'NoClusters' });
  });
});

describe('condition Progressing of a ManagedTokenSet', () => {
  it('reports how many ManagedTokens an admission webhook changes', () => {
    const member = aMember(aSet(), 'a', aSet(), { ready: 'True' });
    const changed = { ...member, token: { ...member.token!, spec: { ...member.token!.spec, audiences: ['x'] } } };
    const members = [changed, aMember(aSet(), 'b', aSet(), { ready: 'True' })];
    const found = (overridden: ReadonlySet<string>) => conditionOf('Progressing', { members, overridden })?.message;
    expect(found(new Set())).toMatch(/1 of 2 clusters are pending\.$/);
    expect(found(new Set(['a']))).toMatch(
      /1 of 2 clusters are pending; ManagedTokens that an admission webhook changes: 1\. Exempt the ManagedTokens from the mutating admission webhooks that change them\.$/,
    );
  });
});

describe('condition ClusterProfilesPublished of a ManagedTokenSet', () => {
  it('keeps the condition after a run that could not determine it', () => {
    expect(conditionFor(undefined)).toEqual(PUBLISHED);
  });

  it('removes the condition from a set without ClusterProfiles', () => {
    expect(conditionFor('none')).toBeUndefined();
  });

  it('changes the transition time only with the status', () => {
    expect(conditionFor(toProfilesAspect('CustomResourceMissing'))).toMatchObject({
      status: 'False',
      reason: 'CustomResourceMissing',
      lastTransitionTime: formatTimestamp(NOON),
    });
    expect(conditionFor(toProfilesAspect('Published'))?.lastTransitionTime).toBe(BEFORE);
  });
});
