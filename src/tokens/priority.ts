// The place of a ManagedToken in the queue: its lane, its tenant and its deadline.

import type { ManagedToken } from '../api/managed-token.gen.ts';
import { Annotation } from '../api/names.ts';
import type { Place } from '../runtime/work-queue.ts';
import { instantOf } from '../std/instant.ts';
import { dialedCluster } from '../targets/registered-cluster.ts';
import { type HubView, secretKeyOf } from './hub-view.ts';
import { formerAnchors } from './policy/anchors.ts';
import { parseRecord, requestOf, type TokenRecord } from './policy/record.ts';
import type { TokenDeps } from './run.ts';

/**
 * Each cluster that is dialed has its own lane, and each namespace is a tenant. Among the ManagedTokens of one namespace, permissions in
 * doubt go first, then tokens that expire first, then renewals and requests; reconciles without a known cause come last.
 */
export function placeOf(key: string, deps: PlaceDeps): Place {
  const token = deps.view.tokens.get(key);
  const tenant = namespaceOf(key);
  if (token === undefined) return { lane: SHARED_LANE, tenant, deadlineAt: Infinity };
  const isDoubtful = deps.authority.isDoubtful(token);
  return { lane: isDoubtful ? SHARED_LANE : laneOf(token, deps.view), tenant, deadlineAt: deadlineOf(token, isDoubtful, deps) };
}

/** Returns the namespace in the key of a ManagedToken. */
export function namespaceOf(key: string): string {
  return key.slice(0, Math.max(key.indexOf('/'), 0));
}

/**
 * Returns the lane of a ManagedToken: the cluster that issues its token. ManagedTokens that dial no server, or another one than their spec
 * names, share one lane; otherwise a tenant could open a lane with every name that it makes up.
 */
export function laneOf(token: ManagedToken, view: HubView): string {
  const registered = view.registered(token.spec.clusterName);
  if (registered === undefined || formerAnchors(token).length > 0) return SHARED_LANE;
  return dialedCluster(registered) ?? SHARED_LANE;
}

const SHARED_LANE = '';

/** When the token in the Secret of a ManagedToken expires; undefined when there is none. */
export function expiresAt(token: ManagedToken | undefined, view: HubView): number | undefined {
  return token && held(token, view)?.record.expiresAt;
}

type PlaceDeps = Pick<TokenDeps, 'view' | 'clock' | 'authority'>;

/** By when a ManagedToken without a token should have one, if its namespace has no more than this. */
const FIRST_TOKEN_MS = 60_000;
const SMALL_NAMESPACE = 100;
/** By when a token is renewed that is due, if it does not expire before. */
const DUE_MS = 60_000;
/** By when everything else is looked at: late, but some time. */
const LOOK_MS = 600_000;

function deadlineOf(token: ManagedToken, isDoubtful: boolean, { view, clock }: PlaceDeps): number {
  const now = clock.now();
  const { deletionTimestamp, namespace = '' } = token.metadata;
  const holding = held(token, view);
  if (deletionTimestamp !== undefined) return now;
  if (holding === undefined) return now + FIRST_TOKEN_MS * Math.max(1, view.countInNamespace(namespace) / SMALL_NAMESPACE);
  const { record, renewAt } = holding;
  if (requestOf(token, Annotation.revoke) !== record.revokeRequest || isDoubtful) return now;
  // Whatever wakes a ManagedToken, it may wait until its renewal is due, and must not stand behind all others then.
  const dueAt = isWanted(token, record) ? now : Math.max(renewAt, now);
  return Math.min(record.expiresAt, dueAt + DUE_MS, now + LOOK_MS);
}

/** Whether people ask for something that is not there yet. */
function isWanted(token: ManagedToken, { rotateRequest }: TokenRecord): boolean {
  const isNew = token.metadata.generation !== token.status?.observedGeneration;
  return isNew || requestOf(token, Annotation.rotate) !== rotateRequest;
}

interface Holding {
  readonly record: TokenRecord;
  readonly renewAt: number;
}

function held(token: ManagedToken, { secrets }: HubView): Holding | undefined {
  const secret = secrets.get(secretKeyOf(token));
  const record = secret?.tokenDigest === undefined ? undefined : parseRecord(secret.metadata.annotations);
  return record && { record, renewAt: instantOf(secret?.metadata.annotations?.[Annotation.renewAt]) ?? record.issuedAt };
}
