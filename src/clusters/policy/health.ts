// The health of a cluster over several probes. One probe that goes otherwise than the last changes nothing that is shown;
// the second in a row does, for better and for worse.

import type { ClusterCondition } from '../../api/cluster.gen.ts';
import { ClusterConditionType as Type } from '../../api/names.ts';
import { ClusterReason } from '../../api/reasons.ts';
import { withCondition } from '../../kubernetes/conditions.ts';
import type { Reading } from './conditions.ts';
import { type Finding, isSameFinding } from './findings.ts';

/** One aspect over time. */
export interface Damped {
  readonly shown: Finding;
  /** What the last probe said, if that is something else. */
  readonly doubt?: Finding;
}

/** All that is damped. */
export type Health = { readonly [Aspect in keyof Reading]: Damped };

/** The health after one more probe. The first decides at once. */
export function healthAfter(previous: Health | undefined, { reachable, authorized, ready }: Reading): Health {
  return {
    reachable: damped(previous?.reachable, reachable),
    authorized: damped(previous?.authorized, authorized),
    ready: damped(previous?.ready, ready),
  };
}

/** Whether the last probe said something else than what is shown. */
export function isInDoubt({ reachable, authorized, ready }: Health): boolean {
  return [reachable, authorized, ready].some(({ doubt }) => doubt !== undefined);
}

/** Whether the cluster is shown as ready though the last probe said otherwise. The next one decides, whatever it says. */
export function isReadyInDoubt(health: Health | undefined): boolean {
  return health?.ready.shown.status === 'True' && health.ready.doubt !== undefined;
}

/** The health that a status tells of, so that a restart goes on where it ended; undefined if it does not tell all. */
export function rememberedHealth(conditions: readonly ClusterCondition[]): Health | undefined {
  const [reachable, authorized, ready] = [Type.reachable, Type.authorized, Type.ready].map((type) => remembered(conditions, type));
  return reachable && authorized && ready && { reachable, authorized, ready };
}

/** The conditions of a status, all of them as of now. Those of other types are not ours and go. */
export function clusterConditions(
  health: Health,
  credentialFresh: Finding,
  previous: readonly ClusterCondition[],
  now: number,
): readonly ClusterCondition[] {
  const findings = {
    [Type.ready]: health.ready.shown,
    [Type.reachable]: health.reachable.shown,
    [Type.authorized]: health.authorized.shown,
    [Type.credentialFresh]: credentialFresh,
  };
  return Object.entries(findings).flatMap(([type, shown]) => {
    const old = previous.filter((condition) => condition.type === type).slice(0, 1);
    return withCondition(old, { type, ...shown }, now);
  });
}

function damped(previous: Damped | undefined, next: Finding): Damped {
  if (previous === undefined) return { shown: next };
  if (isSameFinding(previous.shown, next)) return isSettled(previous, next) ? previous : { shown: next };
  const { shown, doubt } = previous;
  const turns = isTrue(shown) !== isTrue(next);
  // Which failure it is may vary from probe to probe; that it fails does not.
  const isSecond = doubt !== undefined && (turns ? isTrue(doubt) === isTrue(next) : isSameFinding(doubt, next));
  return isSecond ? { shown: next } : { shown, doubt: next };
}

/** Whether nothing is new; the old object is kept then, since a fleet would make a new one every few milliseconds. */
function isSettled({ shown, doubt }: Damped, next: Finding): boolean {
  return doubt === undefined && shown.message === next.message;
}

function isTrue({ status }: Finding): boolean {
  return status === 'True';
}

function remembered(conditions: readonly ClusterCondition[], wanted: string): Damped | undefined {
  const found = conditions.find(({ type }) => type === wanted);
  const { reason = '', message = '', status } = found ?? {};
  return status !== undefined && isReason(reason) ? { shown: { status, reason, message } } : undefined;
}

function isReason(text: string): text is ClusterReason {
  return Object.hasOwn(ClusterReason, text);
}
