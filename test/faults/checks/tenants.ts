// Checks of the hostile-tenant bench: permissions (I13), pinned addresses (I14, I17), isolation (I15), limits (I16), revocation
// (I11), lists (I23).

import { type Of, ofType, type Phase, type Reach, type Recorded, type SeenObject, type Sight } from '../history.ts';
import { type Check, groupByToken, type Violation } from './violation.ts';

/** Maximum age of a cached RBAC decision, with rounding of `iat` to seconds, in milliseconds. */
const AUTHORITY_LAG_MS = 12_000;
/** Time until a revocable token is invalid, in milliseconds: 40 s for the anchor, 10 s of cached reviews, and 2 s between reviews. */
const REVOKED_MS = 52_000;
/** Default of --max-token-lifetime, with a minute for rounding. */
const MAX_LIFETIME_MS = 86_460_000;
/** Tolerated slowdown of rotations during the attack. */
const LATE_FACTOR = 2;
/** Minimum delay that is reported as late, in milliseconds; the bench shares its machine. */
const LATE_FLOOR_MS = 5_000;
const MAX_MEGABYTES = 512;
/** Growth over the calm phase that is tolerated after the attack, in megabytes. */
const MAX_LASTING_MEGABYTES = 120;
/** Tolerated growth of metric series: about 40 for each Cluster that a tenant creates, and for each reason that is new. */
const MAX_SERIES_GROWTH = 700;
const MAX_ERROR_LINES_PER_MINUTE = 600;
/** Namespaces with anchors of one object: 16 at a time, and as many again for anchors that were dropped. */
const MAX_ANCHOR_NAMESPACES = 32;

/**
 * Finds tokens of tenants that clusters accept although RBAC did not permit the tokens at issuance or their lifetimes are too long, and
 * tokens for audiences that were not requested.
 */
export const heldTokens: Check = (history) => {
  const authorities = Map.groupBy(ofType(history, 'authority'), ({ holder }) => holder);
  return ofType(history, 'held').flatMap((held): readonly Violation[] => {
    const inForce = findInForce(authorities.get(held.holder) ?? [], held.issuedAt, held.issuedAt);
    const reach = inForce.flatMap((each) => each.reach);
    const beyond = held.acceptedBy.filter(({ cluster, username }) => !reach.some((each) => covers(each, cluster, username)));
    const wider = held.audiences.filter((audience) => held.requested?.includes(audience) === false);
    const found = [
      ...beyond.map(({ cluster, username }) => `${held.holder} holds a token of ${username} on ${cluster} (${held.source})`),
      ...(held.acceptedBy.length > 0 && held.expiresAt - held.issuedAt > MAX_LIFETIME_MS
        ? [`${held.holder} holds a token with a lifetime of more than a day`]
        : []),
      ...wider.map(() => `${held.holder} holds a token for an audience that was not requested`),
    ];
    return found.map((message) => ({ invariant: 'I13', at: held.at, message }));
  });
};

/** Returns the entries that were in force at some time from the lag before `from` until `to`. Each is in force until the next. */
function findInForce<T extends { readonly at: number }>(entries: readonly T[], from: number, to: number): readonly T[] {
  return entries.filter((each, index) => each.at <= to + 1_000 && (entries[index + 1]?.at ?? Infinity) >= from - AUTHORITY_LAG_MS);
}

function covers({ cluster, namespace, account }: Reach, where: string, username: string): boolean {
  const prefix = `system:serviceaccount:${namespace}:`;
  return cluster === where && (account === undefined ? username.startsWith(prefix) : username === `${prefix}${account}`);
}

/** Finds objects that the façade showed to tenants although RBAC did not let them see the objects at that time. */
export const shownObjects: Check = (history) => {
  const sights = Map.groupBy(ofType(history, 'sight'), ({ holder }) => holder);
  return ofType(history, 'shown').flatMap(({ at, holder, sentAt, objects }): readonly Violation[] => {
    const inForce = findInForce(sights.get(holder) ?? [], sentAt, at).flatMap((each) => each.sights);
    const beyond = objects.filter((object) => !inForce.some((sight) => includes(sight, object)));
    return beyond.map(({ resource, namespace, name }) => {
      return { invariant: 'I23', at, message: `the façade showed ${resource} ${namespace}/${name} to the ${holder}` };
    });
  });
};

function includes({ resource, namespace, name }: Sight, object: SeenObject): boolean {
  return resource === object.resource && namespace === object.namespace && (name === undefined || name === object.name);
}

/** Finds strings that disclose addresses, credentials or identities to tenants. */
export const disclosures: Check = (history) =>
  ofType(history, 'disclosure').map(({ at, holder, where, named }) => {
    return { invariant: 'I18', at, message: `${where} discloses ${named.join(', ')} to the ${holder}` };
  });

/** Finds valid or issued tokens that reached the attacker's server. */
export const receivedTokens: Check = (history) =>
  ofType(history, 'received').flatMap(({ at, path, acceptedBy, isIssued }): readonly Violation[] => {
    if (!isIssued && acceptedBy.length === 0) return [];
    const users = acceptedBy.map(({ cluster, username }) => `${username} on ${cluster}`).join(', ');
    const withoutQuery = path.split('?')[0];
    return [
      {
        invariant: 'I14',
        at,
        message: `a token reached the attacker's server at ${withoutQuery}: ${users || 'issued, no longer accepted'}`,
      },
    ];
  });

/** Finds credentials of Purser that were sent to a cluster other than their own. */
export const strayCredentials: Check = (history) => {
  const clusterOfCredential = new Map(ofType(history, 'credential').map(({ digest, cluster }) => [digest, cluster]));
  return ofType(history, 'request').flatMap(({ at, server, bearer = '', method, path }): readonly Violation[] => {
    const cluster = clusterOfCredential.get(bearer);
    if (cluster === undefined || cluster === server) return [];
    return [{ invariant: 'I14', at, message: `the credential for ${cluster} reached ${server}: ${method} ${path.split('?')[0]}` }];
  });
};

/** Finds addresses and CAs in well-behaved tenants' Secrets that no administrator pinned. */
export const pinnedAddresses: Check = (history) => {
  const pins = new Map(ofType(history, 'pins').map((each) => [each.cluster, each]));
  return ofType(history, 'written').flatMap(({ at, token, cluster, servers, cas }): readonly Violation[] => {
    const pinned = pins.get(cluster);
    const unpinned = [
      ...servers.filter((server) => pinned?.servers.includes(server) !== true).map((server) => `address ${server}`),
      ...cas.filter((ca) => pinned?.cas.includes(ca) !== true).map((ca) => `CA ${ca}`),
    ];
    return unpinned.map((item) => ({
      invariant: 'I17',
      at,
      token,
      message: `the Secret contains an ${item} that is not pinned`.replace('an CA', 'a CA'),
    }));
  });
};

/** Distribution of times, in milliseconds. */
export interface Times {
  readonly count: number;
  readonly median: number;
  readonly p95: number;
  readonly worst: number;
}

/** Figures of a run of the hostile-tenant bench. */
export interface TenantFigures {
  readonly rotations: Readonly<Record<'calm' | 'attack', Times>>;
  readonly calls: Readonly<Record<'calm' | 'attack', Times>>;
  /** Times of the requests of a rotation without Purser. */
  readonly control: Readonly<Record<'calm' | 'attack', Times>>;
  /** Maximum resident memory, in megabytes. */
  readonly memory: Readonly<Record<'calm' | 'attack' | 'after', number>>;
  readonly actions: number;
  readonly held: number;
  /** Number of objects of other tenants in responses from the façade. */
  readonly shown: number;
}

/** Returns the figures of the hostile-tenant bench, or undefined if it was not run. */
export function computeTenantFigures(history: readonly Recorded[]): TenantFigures | undefined {
  const phases = ofType(history, 'phase');
  if (phases.length === 0) return undefined;
  const within = <T extends { readonly at: number }>(entries: readonly T[], phase: Phase) => filterByPhase(phases, entries, phase);
  const times = (type: 'rotation' | 'call' | 'control') => {
    const of = (phase: Phase) => computeTimes(within<Of<typeof type>>(ofType(history, type), phase).map(({ tookMs }) => tookMs));
    return { calm: of('calm'), attack: of('attack') };
  };
  const memory = (phase: Phase) => Math.max(0, ...within(ofType(history, 'usage'), phase).map(({ rssMegabytes }) => rssMegabytes));
  return {
    rotations: times('rotation'),
    calls: times('call'),
    control: times('control'),
    memory: { calm: memory('calm'), attack: memory('attack'), after: memory('after') },
    actions: within(ofType(history, 'step'), 'attack').length,
    held: ofType(history, 'held').length,
    shown: ofType(history, 'shown').reduce((sum, { objects }) => sum + objects.length, 0),
  };
}

function computeTimes(times: readonly number[]): Times {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { count: sorted.length, median: at(0.5), p95: at(0.95), worst: sorted.at(-1) ?? 0 };
}

/** Returns the entries within a phase. */
function filterByPhase<T extends { readonly at: number }>(
  phases: readonly Of<'phase'>[],
  entries: readonly T[],
  phase: Phase,
): readonly T[] {
  const spans = phases.flatMap((each, index) => (each.phase === phase ? [[each.at, phases[index + 1]?.at ?? Infinity] as const] : []));
  return entries.filter(({ at }) => spans.some(([from, to]) => at >= from && at < to));
}

/**
 * Finds rotations of well-behaved tenants that did not complete or took longer than the limit: twice the worst time without attackers, or
 * 5 s more if that is longer, plus twice the slowdown of the same requests without Purser.
 */
export const promptRotations: Check = (history) => {
  const phases = ofType(history, 'phase');
  const worst = (type: 'rotation' | 'control', phase: Phase) =>
    Math.max(0, ...filterByPhase<Of<'rotation' | 'control'>>(phases, ofType(history, type), phase).map(({ tookMs }) => tookMs));
  const calmMs = worst('rotation', 'calm');
  const slowerMs = Math.max(0, worst('control', 'attack') - worst('control', 'calm'));
  const limitMs = Math.max(calmMs * LATE_FACTOR, calmMs + LATE_FLOOR_MS) + slowerMs * LATE_FACTOR;
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`;
  return filterByPhase(phases, ofType(history, 'rotation'), 'attack')
    .filter(({ tookMs, isDone }) => !isDone || tookMs > limitMs)
    .map(({ at, token, tookMs, isDone }) => {
      const took = isDone ? seconds(tookMs) : `more than ${seconds(tookMs)}`;
      return { invariant: 'I15', at, token, message: `a rotation took ${took}; at most ${seconds(calmMs)} without attackers` };
    });
};

/** Finds revocable tokens that clusters accept too long after withdrawal of their permission. */
export const revokedTokens: Check = (history) => {
  const reviews = groupByToken(ofType(history, 'review'));
  return [...groupByToken(ofType(history, 'grant'))].flatMap(([token, grants]) =>
    grants.flatMap((grant, index): readonly Violation[] => {
      if (grant.allowed) return [];
      const untilAt = grants[index + 1]?.at ?? Infinity;
      const alive = reviews.get(token)?.find(({ at, verdict }) => verdict === 'accepted' && at > grant.at + REVOKED_MS && at < untilAt);
      if (alive === undefined) return [];
      return [{ invariant: 'I11', at: alive.at, token, message: 'the revocable token outlived its permission' }];
    }),
  );
};

/** Finds memory, metrics and logs beyond their limits. */
export const footprintLimits: Check = (history) => {
  const phases = ofType(history, 'phase');
  if (phases.length === 0) return [];
  const usage = (phase: Phase) => filterByPhase(phases, ofType(history, 'usage'), phase);
  const footprints = (phase: Phase) => filterByPhase(phases, ofType(history, 'footprint'), phase);
  const above = [...usage('attack'), ...usage('after')]
    .filter(({ rssMegabytes }) => rssMegabytes > MAX_MEGABYTES)
    .map(({ at, rssMegabytes }): Violation => ({ invariant: 'I16', at, message: `${rssMegabytes} MB of memory` }));
  return [
    ...above,
    ...findLastingMemory(usage('calm'), usage('after')),
    ...findExcessOutput(footprints('calm'), [...footprints('attack'), ...footprints('after')]),
  ];
};

/** Returns true if memory is near its level before the attack. */
export function hasMemoryRecovered(history: readonly Recorded[]): boolean {
  const usage = (phase: Phase) => filterByPhase(ofType(history, 'phase'), ofType(history, 'usage'), phase);
  return usage('after').length > 0 && findLastingMemory(usage('calm'), usage('after')).length === 0;
}

function findLastingMemory(calm: readonly Of<'usage'>[], after: readonly Of<'usage'>[]): readonly Violation[] {
  const before = Math.max(0, ...calm.map(({ rssMegabytes }) => rssMegabytes));
  const least = after.toSorted((a, b) => a.rssMegabytes - b.rssMegabytes)[0];
  if (least === undefined || least.rssMegabytes <= before + MAX_LASTING_MEGABYTES) return [];
  return [{ invariant: 'I16', at: least.at, message: `memory is ${least.rssMegabytes} MB after the attack, ${before} MB before` }];
}

function findExcessOutput(calm: readonly Of<'footprint'>[], later: readonly Of<'footprint'>[]): readonly Violation[] {
  const before = calm.at(-1);
  const last = later.at(-1);
  if (before === undefined || last === undefined) return [];
  const series = Math.max(...later.map((each) => each.series));
  const lines = last.errorLines - before.errorLines;
  const allowed = MAX_ERROR_LINES_PER_MINUTE * Math.max(1, (last.at - before.at) / 60_000);
  return [
    ...(series > before.series + MAX_SERIES_GROWTH ? [`${series} metric series, ${before.series} before the attack`] : []),
    ...(lines > allowed ? [`${lines} log lines of level error in ${Math.round((last.at - before.at) / 1_000)} s`] : []),
  ].map((message): Violation => ({ invariant: 'I16', at: last.at, message }));
}

/** Finds objects whose anchors Purser looks up in too many namespaces. */
export const anchorLookups: Check = (history) => {
  const lookups = new Map<string, Set<string>>();
  return ofType(history, 'request').flatMap(({ at, server, path }): readonly Violation[] => {
    const [, namespace, uid] = /\/namespaces\/([^/]+)\/secrets\/purser-([\w-]+)/.exec(path) ?? [];
    if (namespace === undefined || uid === undefined || server === 'hub') return [];
    const known = lookups.get(uid) ?? new Set();
    lookups.set(uid, known);
    known.add(`${server}/${namespace}`);
    // One violation per object, at the first lookup beyond the limit.
    if (known.size !== MAX_ANCHOR_NAMESPACES + 1) return [];
    known.add('reported');
    return [{ invariant: 'I16', at, message: `anchors of one object were looked up in more than ${MAX_ANCHOR_NAMESPACES} namespaces` }];
  });
};
