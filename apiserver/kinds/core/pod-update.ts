// What may change in the spec of a Pod once it exists: next to nothing.

import { type FieldError, forbiddenValue, invalidValue } from '../../../src/kubernetes/field-error.ts';
import { sameValue } from '../../same-value.ts';
import type { Container, Pod, PodSpec, Toleration } from './pod-defaults.ts';

const UPDATABLE =
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

const MAX_INT32 = 2_147_483_647;

/** What is wrong with a change. Kubernetes adds a diff of its internal structs to the last error, which is left out here. */
export function podChangeErrors({ spec: next = {} }: Pod, { spec: old = {} }: Pod): readonly FieldError[] {
  const stop = resized(next, old) ?? extended(next, old);
  if (stop !== undefined) return [stop];
  const isEndless = next.activeDeadlineSeconds === undefined && old.activeDeadlineSeconds !== undefined;
  return [
    ...(isEndless ? [badDeadline(null, 'must not update from a positive integer to nil value')] : []),
    ...(keepsTolerations(next, old)
      ? []
      : [forbiddenValue('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]),
    ...(sameValue(withoutUpdatable(next), withoutUpdatable(old))
      ? []
      : [forbiddenValue('spec', `pod updates may not change fields other than ${UPDATABLE}\n`)]),
  ];
}

function resized(next: PodSpec, old: PodSpec): FieldError | undefined {
  const count = (containers: readonly Container[] | null | undefined) => containers?.length ?? 0;
  if (count(next.containers) !== count(old.containers)) return containersChanged('containers');
  return count(next.initContainers) === count(old.initContainers) ? undefined : containersChanged('initContainers');
}

function extended({ activeDeadlineSeconds: next }: PodSpec, { activeDeadlineSeconds: old }: PodSpec): FieldError | undefined {
  if (next === undefined) return undefined;
  if (next < 0 || next > MAX_INT32) return badDeadline(next, `must be between 0 and ${MAX_INT32}, inclusive`);
  return next > (old ?? next) ? badDeadline(next, 'must be less than or equal to previous value') : undefined;
}

function containersChanged(field: string): FieldError {
  return forbiddenValue(`spec.${field}`, 'pod updates may not add or remove containers');
}

function badDeadline(seconds: number | null, why: string): FieldError {
  return invalidValue('spec.activeDeadlineSeconds', seconds, why);
}

function keepsTolerations({ tolerations: next = [] }: PodSpec, { tolerations: old = [] }: PodSpec): boolean {
  const timeless = (toleration: Toleration) => ({ ...toleration, tolerationSeconds: undefined });
  return old.every((each) => next.some((other) => sameValue(timeless(other), timeless(each))));
}

function withoutUpdatable(spec: PodSpec): object {
  const imageless = (list: readonly Container[] | null | undefined) => (list ?? []).map((container) => ({ ...container, image: '' }));
  return {
    ...spec,
    containers: imageless(spec.containers),
    initContainers: imageless(spec.initContainers),
    activeDeadlineSeconds: undefined,
    tolerations: undefined,
  };
}
