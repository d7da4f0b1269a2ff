// Administrator of the hub: withdraws and grants permissions, restores Clusters, and records metrics and logs of Purser.

import { setTimeout as delay } from 'node:timers/promises';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { digestOf } from '../digest.ts';
import type { Sight, Verdict } from '../history.ts';
import { textOf } from '../prober.ts';
import { buildServiceAccount, DEPLOY } from '../seed.ts';
import { GUESTS, HOSTILE_NAMESPACES } from './names.ts';
import { GUEST_TOKENS, type PoliteToken, readPoliteToken, tryReadPoliteToken } from './polite.ts';
import { decodeClaims, readBoundSecret } from './token-text.ts';
import {
  allowBuilder,
  allowIssue,
  allowSight,
  CALLER_SIGHTS,
  ONE_ACCOUNT,
  restoreClusters,
  withdrawIssue,
  withdrawSight,
} from './world.ts';

/** Maximum time for reviews of a withdrawn token, in milliseconds. */
const REVIEW_LIMIT_MS = 62_000;
const REVIEW_EVERY_MS = 2_000;
/** Maximum time for the removal and the issuance of a token, in milliseconds; long, so that a busy machine does not matter. */
const WAIT_LIMIT_MS = 60_000;

/** Grants the requester of a guest's token permission to issue it. */
export async function grantGuest(bench: Bench, { name, cluster }: PoliteToken): Promise<void> {
  await bench.hub.api.apply(paths.serviceAccounts(GUESTS, name), buildServiceAccount(GUESTS, name));
  await allowIssue(bench.hub.api, `issue-${name}`, [`${cluster}/${DEPLOY}/${name}`], { namespace: GUESTS, name });
}

/** Withdraws permissions in turn, including the hostile tenant's, and grants them again, until the signal aborts. */
export async function withdrawAndRestore(bench: Bench, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n += 1) {
    await withdrawGuest(bench, GUEST_TOKENS[n % GUEST_TOKENS.length] as PoliteToken);
    if (signal.aborted) return;
    await withdrawHostile(bench);
    await delay(REVIEW_EVERY_MS);
  }
}

async function withdrawGuest(bench: Bench, token: PoliteToken): Promise<void> {
  const { name } = token;
  const text = await readPoliteToken(bench, token);
  if (text === '') return;
  await withdrawIssue(bench.hub.api, `issue-${name}`);
  bench.history.add({ type: 'grant', token: name, allowed: false });
  await reviewUntilInvalid(bench, [{ label: name, text, isKept: async () => true }]);
  // Purser deletes the anchor first: a permission that is granted in between comes too late for the Secret.
  await waitForToken(bench, token, (held) => held === '');
  bench.recordCause(name, 'permission granted again');
  bench.history.add({ type: 'grant', token: name, allowed: true });
  await grantGuest(bench, token);
  await waitForToken(bench, token, (held) => held !== '');
}

async function waitForToken(bench: Bench, token: PoliteToken, isSo: (held: string) => boolean): Promise<void> {
  const endAt = Date.now() + WAIT_LIMIT_MS;
  const isDone = async () => {
    const held = await tryReadPoliteToken(bench, token);
    return held !== undefined && isSo(held);
  };
  while (!(await isDone()) && Date.now() < endAt) await delay(500);
}

/** Withdraws the only permission of the hostile writer of ManagedTokens; its revocable tokens must become invalid. */
async function withdrawHostile(bench: Bench): Promise<void> {
  const { api } = bench.hub;
  const bound = await listHostileBoundTokens(bench);
  await withdrawIssue(api, 'hostile-builder');
  bench.history.add({ type: 'authority', holder: 'writer', reach: [] });
  for (const { label } of bound) bench.history.add({ type: 'grant', token: label, allowed: false });
  await reviewUntilInvalid(bench, bound);
  for (const { label } of bound) bench.history.add({ type: 'grant', token: label, allowed: true });
  bench.history.add({ type: 'authority', holder: 'writer', reach: [ONE_ACCOUNT] });
  await allowBuilder(api);
}

/** Token that must become invalid after withdrawal of its permission. */
interface WithdrawnToken {
  readonly label: string;
  readonly text: string;
  /** Returns true while the ManagedToken exists. Without admission policies a tenant can remove Purser's finalizer and delete it. */
  readonly isKept: () => Promise<boolean>;
}

/** Returns the hostile tenant's tokens that are bound to anchors of its ManagedTokens. */
async function listHostileBoundTokens({ hub }: Bench): Promise<readonly WithdrawnToken[]> {
  const [namespace] = HOSTILE_NAMESPACES;
  const tokens = await hub.api.list(paths.tokens(namespace)).catch(() => []);
  const texts = (await hub.api.list(paths.secrets(namespace)).catch(() => [])).map(textOf);
  return texts.flatMap((text): readonly WithdrawnToken[] => {
    const owner = tokens.find(({ metadata }) => readBoundSecret(text) === `purser-${metadata.uid}`)?.metadata;
    if (owner === undefined) return [];
    const isKept = async () => (await hub.api.find(paths.tokens(namespace, owner.name)))?.metadata.uid === owner.uid;
    return [{ label: `hostile ${owner.name}`, text, isKept }];
  });
}

/** Reviews tokens until no token is accepted, or for a minute. */
async function reviewUntilInvalid(bench: Bench, tokens: readonly WithdrawnToken[]): Promise<void> {
  const endAt = Date.now() + REVIEW_LIMIT_MS;
  for (let alive = tokens; alive.length > 0 && Date.now() < endAt; ) {
    await delay(REVIEW_EVERY_MS);
    const verdicts = await Promise.all(alive.map((token) => reviewToken(bench, token)));
    alive = alive.filter((_, index) => !['rejected', 'none'].includes(verdicts[index] ?? ''));
  }
}

async function reviewToken({ one, history }: Bench, { label, text, isKept }: WithdrawnToken): Promise<Verdict> {
  const spec = { token: text, audiences: decodeClaims(text).aud };
  const review = await one.api.create(paths.reviews, { spec }).catch(() => undefined);
  const isAccepted = review?.status?.authenticated === true;
  const isExcused = isAccepted && !(await isKept().catch(() => true));
  const verdict = review === undefined ? 'unreachable' : isExcused ? 'none' : isAccepted ? 'accepted' : 'rejected';
  history.add({ type: 'review', token: label, digest: digestOf(text), verdict });
  return verdict;
}

/** Time between two changes to the caller's sights: each is withdrawn for twice this time, which is longer than permissions are cached. */
const SIGHT_EVERY_MS = 10_000;

/** Lets the hostile caller see objects, and withdraws the permissions again, one change after another, until the signal aborts. */
export async function shiftSights(bench: Bench, signal: AbortSignal): Promise<void> {
  const { api } = bench.hub;
  const allowed = new Set<Sight>();
  const record = () => bench.history.add({ type: 'sight', holder: 'caller', sights: [...allowed] });
  record();
  for (let n = 0; !signal.aborted; n += 1) {
    const sight = CALLER_SIGHTS[n % CALLER_SIGHTS.length] as Sight;
    if (allowed.delete(sight)) await withdrawSight(api, sight);
    else allowed.add(sight);
    // A permission is recorded before it is granted, and after it is withdrawn.
    record();
    if (allowed.has(sight)) await allowSight(api, sight);
    for (let waited = 0; waited < SIGHT_EVERY_MS && !signal.aborted; waited += 500) await delay(500);
  }
  for (const sight of allowed) await withdrawSight(api, sight);
}

const RESTORE_EVERY_MS = 9_000;

/** Restores the Clusters under attack every few seconds until the signal aborts. */
export async function keepClusters(bench: Bench, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (let waited = 0; waited < RESTORE_EVERY_MS && !signal.aborted; waited += 500) await delay(500);
    await restoreClusters(bench).catch(() => {});
  }
}

const FOOTPRINT_EVERY_MS = 5_000;

/** Records the number of metric series and error lines periodically until the signal aborts. */
export async function watchFootprint(bench: Bench, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await recordFootprint(bench);
    for (let waited = 0; waited < FOOTPRINT_EVERY_MS && !signal.aborted; waited += 500) await delay(500);
  }
  await recordFootprint(bench);
}

/** Series of one ManagedToken, three at most; a quota limits their number. */
const TOKEN_GAUGE = /^purser_token_(ready|expiration_timestamp_seconds|renewal_timestamp_seconds)\{/;

/** Records the current number of error lines and of metric series without those of each ManagedToken. */
export async function recordFootprint(bench: Bench): Promise<void> {
  const { metrics } = await bench.purser.waitForAddresses();
  const text = await fetch(`${metrics}/metrics`).then(
    (response) => response.text(),
    () => '',
  );
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !TOKEN_GAUGE.test(line)).length;
  const errorLines = (await bench.purser.readLog()).split('\n').filter((line) => /"level":(50|60|"error"|"fatal")/.test(line)).length;
  bench.history.add({ type: 'footprint', series, errorLines });
}
