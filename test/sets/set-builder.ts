// Builders of ManagedTokenSets and their ManagedTokens, for tests of policies.

import type { ManagedTokenCondition } from '../../src/api/managed-token.gen.ts';
import type { ManagedTokenSetStatus, ManagedTokenSetTemplate, ManagedTokenSetTemplateSpec } from '../../src/api/managed-token-set.gen.ts';
import type { Member } from '../../src/sets/policy/plan.ts';
import { renderToken, type StoredSet } from '../../src/sets/policy/template.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import type { StoredToken } from '../../src/tokens/policy/spec.ts';
import { aToken, NOON } from '../support/builders.ts';

export interface SetOptions extends Partial<Omit<ManagedTokenSetTemplateSpec, 'metadata'>> {
  readonly metadata?: ManagedTokenSetTemplate['metadata'];
  readonly maxConcurrent?: number;
  readonly status?: ManagedTokenSetStatus;
}

/** Returns a set in team-a for deploy/deployer on all clusters. */
export function aSet({ metadata = {}, maxConcurrent = 10, status, ...spec }: SetOptions = {}): StoredSet {
  const { clusterName: _, ...tokenSpec } = aToken().build().spec;
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedTokenSet',
    metadata: { name: 'fleet', namespace: 'team-a', uid: 'set-uid', resourceVersion: '1', generation: 1 },
    spec: {
      clusterSelector: {},
      template: { metadata, spec: { ...tokenSpec, ...spec } },
      rollout: { maxConcurrent },
      clusterProfiles: false,
    },
    ...(status && { status }),
  };
}

export interface TokenOptions {
  /** Status of Ready; undefined if there is no condition. */
  readonly ready?: 'True' | 'False';
  readonly reason?: string;
  /** Time of the last transition of Ready. */
  readonly since?: number;
  readonly generation?: number;
  readonly observedGeneration?: number;
  readonly controllerUid?: string;
}

/** Returns a member whose ManagedToken was rendered from the template of `from`; without a ManagedToken for undefined. */
export function aMember(set: StoredSet, clusterName: string, from: StoredSet | undefined, options: TokenOptions = {}): Member {
  const result = renderToken(set, { name: clusterName });
  const rendering = 'problem' in result ? result : { digest: result.rendered.digest };
  return { clusterName, rendering, token: from && aChild(from, clusterName, options) };
}

/** Returns the ManagedToken of a cluster. */
export function aChild(set: StoredSet, clusterName: string, options: TokenOptions = {}): StoredToken {
  const { ready, reason = ready === 'True' ? 'Issued' : 'ServiceAccountNotFound', since = NOON - 60_000, generation = 1 } = options;
  const { observedGeneration = generation, controllerUid = set.metadata.uid } = options;
  const rendering = renderToken(set, { name: clusterName });
  if ('problem' in rendering) throw new Error(rendering.problem);
  const { name, labels, annotations, spec } = rendering.rendered;
  const condition: ManagedTokenCondition[] =
    ready === undefined ? [] : [{ type: 'Ready', status: ready, reason, message: 'Message.', lastTransitionTime: formatTimestamp(since) }];
  return {
    apiVersion: 'tokens.purser.dev/v1alpha1',
    kind: 'ManagedToken',
    metadata: {
      name,
      namespace: 'team-a',
      uid: `uid-${name}`,
      resourceVersion: '1',
      generation,
      labels,
      annotations,
      ownerReferences: [
        { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedTokenSet', name: 'fleet', uid: controllerUid, controller: true },
      ],
    },
    spec,
    status: { observedGeneration, conditions: condition },
  };
}
