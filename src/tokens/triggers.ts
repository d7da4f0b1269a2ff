// Triggers: the changes on the hub after which ManagedTokens are reconciled.

import { filter, map, merge, mergeMap, type Observable, tap } from 'rxjs';
import { NO_SET, setOf } from '../access/cluster-set.ts';
import { serviceAccountsOf } from '../access/user.ts';
import type { Cluster } from '../api/cluster.gen.ts';
import { TokensGroup } from '../api/names.ts';
import { ManagedTokens } from '../api/resources.ts';
import { objectKey } from '../kube/paths.ts';
import type { Change } from '../kube/store.ts';
import {
  annotationsChanged,
  anyOf,
  conditionTurnedTrue,
  fieldChanged,
  generationChanged,
  labelsChanged,
  statusNotOurs,
} from '../runtime/predicates.ts';
import { owner, self, statesOf } from '../runtime/trigger.ts';
import { claimedSecret, type HubView, keysOf, requesterKeyOf, secretKeyOf, type TokenInformers } from './informers.ts';
import type { StoredSecret } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TrackedTokens } from './tracked-token.ts';

/** Emits the keys of ManagedTokens to reconcile. */
export function tokenTriggers(informers: TokenInformers, view: HubView, memory: TrackedTokens): Observable<string> {
  const { tokens, clusters, secrets, credentials, requesters } = informers;
  const written = (key: string) => memory.of(view.tokens.get(key)?.metadata.uid).status;
  const isNews = anyOf<StoredToken>(generationChanged, annotationsChanged(`${TokensGroup}/`), statusNotOurs(written), budgetChanged);
  const tenantTriggers$ = merge(
    tokens.changes$.pipe(
      tap((change) => trackToken(change, memory)),
      filter(isNews),
      mergeMap((change) => [...new Set([...self(change), ...keysOf(successors(change, view))])]),
    ),
    secrets.changes$.pipe(
      tap((change) => trackSecret(change, writersOf(change, view), memory)),
      // A relist may restore a stub without a new resource version.
      filter((change) => (change.type === 'updated' && budgetChanged(change)) || !isOwnWrite(change, writersOf(change, view), memory)),
      mergeMap((change) => [...new Set([...ownersOf(change), ...keysOf(writersOf(change, view))])]),
    ),
    requesters.changes$.pipe(
      filter(({ type }) => type !== 'updated'),
      mergeMap(({ key }) => view.tokensOfRequester(key)),
      // Earlier reviews may no longer apply.
      tap(({ metadata }) => memory.keep(metadata.uid).recordRbacChange()),
      map(objectKey),
    ),
  );
  return merge(
    tenantTriggers$.pipe(tap((key) => trackTenantTrigger(view.tokens.get(key), memory))),
    clusters.changes$.pipe(mergeMap((change) => keysOf(affectedTokens(change, view)))),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(
      mergeMap(({ key }) => view.clustersForCredential(key)),
      mergeMap(({ metadata }) => keysOf(view.tokensForCluster(metadata.name))),
    ),
    merge(permissionTriggers(informers, view), setTriggers(informers, view)).pipe(
      // Earlier reviews may no longer apply.
      tap(({ metadata }) => memory.keep(metadata.uid).recordRbacChange()),
      map(objectKey),
    ),
  );
}

/** Matches an object that became a stub because its namespace is over its budget, or that is whole again. */
const budgetChanged = fieldChanged<StoredToken | StoredSecret>(({ isOverBudget }) => isOverBudget);

/** Returns the ManagedTokens that a change to a Cluster affects. Labels and audiences do not concern all of them. */
function affectedTokens(change: Change<Cluster>, view: HubView): readonly StoredToken[] {
  const isForAll = isRegistrationChange(change);
  const [hasLabels, hasAudiences] = [labelsChanged(change), apiAudiencesChanged(change)];
  if (!isForAll && !hasLabels && !hasAudiences) return [];
  const tokens = view.tokensForCluster(change.key);
  if (isForAll) return tokens;
  return tokens.filter(
    ({ spec }) => (hasLabels && spec.secret.argocd?.labelsFromCluster !== undefined) || (hasAudiences && spec.audiences === undefined),
  );
}

const isRegistrationChange = anyOf<Cluster>(generationChanged, conditionTurnedTrue('Ready'));
const apiAudiencesChanged = fieldChanged<Cluster>(({ status }) => status?.apiAudiences);

/** Emits the ManagedTokens whose requesters a changed role or binding affects. */
function permissionTriggers(informers: TokenInformers, view: HubView): Observable<StoredToken> {
  return view.permissions
    .follow(informers)
    .pipe(mergeMap((change) => new Set([...view.permissions.affectedBy(change)].flatMap((each) => tokensOfSubject(each, view)))));
}

/** Emits the ManagedTokens of each Cluster that joins or leaves a set, including by its creation or deletion. */
function setTriggers({ clusters }: TokenInformers, view: HubView): Observable<StoredToken> {
  return clusters.changes$.pipe(
    filter(hasChangedSet),
    mergeMap(({ key }) => view.tokensForCluster(key)),
  );
}

function hasChangedSet(change: Change<Cluster>): boolean {
  return setOf(change.object) !== (change.type === 'updated' ? setOf(change.previous) : NO_SET);
}

function tokensOfSubject(subject: string, view: HubView): readonly StoredToken[] {
  const scope = serviceAccountsOf(subject);
  if (scope === undefined) return [];
  if (scope === 'all') return view.tokens.list();
  return scope.name === undefined ? view.tokensOfNamespace(scope.namespace) : view.tokensOfRequester(`${scope.namespace}/${scope.name}`);
}

/** Returns the ManagedToken that may create a Secret because the changed one no longer claims it. */
function successors(change: Change<StoredToken>, { firstClaimant }: HubView): readonly StoredToken[] {
  const released = releasedSecret(change);
  const next = released === undefined ? undefined : firstClaimant(released);
  return next === undefined ? [] : [next];
}

/** Returns the key of the Secret that a ManagedToken no longer claims; undefined if it still claims the same Secret. */
function releasedSecret(change: Change<StoredToken>): string | undefined {
  if (change.type !== 'updated') return change.type === 'deleted' ? secretKeyOf(change.object) : undefined;
  const claimed = claimedSecret(change.previous);
  return claimed === claimedSecret(change.object) ? undefined : claimed;
}

const ownersOf = owner(ManagedTokens);

/** Returns the ManagedTokens that may have written a Secret: its owners and the first claimant. Tenants write the list of owners. */
function writersOf(change: Change<StoredSecret>, { tokens, firstClaimant }: HubView): readonly StoredToken[] {
  const owners = ownersOf(change).flatMap((key) => tokens.get(key) ?? []);
  const first = firstClaimant(change.key);
  const writers = new Set(owners.filter((token) => secretKeyOf(token) === change.key));
  return [...(first === undefined ? writers : writers.add(first))];
}

/** Returns whether a change is Purser's own write, after which the writing run has reconciled everything. */
function isOwnWrite({ type, object }: Change<StoredSecret>, writers: readonly StoredToken[], memory: TrackedTokens): boolean {
  return type !== 'deleted' && writers.length > 0 && writers.every(({ metadata }) => memory.of(metadata.uid).isOwnWrite(object));
}

function trackToken(change: Change<StoredToken>, memory: TrackedTokens): void {
  const { type, object } = change;
  const uid = object.metadata.uid;
  if (type === 'deleted') return memory.forget(uid);
  memory.of(uid).observeToken(object);
  // A change to RBAC reaches only the ManagedTokens that name the requester at that time.
  if (new Set(statesOf(change).map(requesterKeyOf)).size > 1) memory.of(uid).recordRbacChange();
}

function trackTenantTrigger(token: StoredToken | undefined, memory: TrackedTokens): void {
  if (token !== undefined) memory.keep(token.metadata.uid).isTriggeredByTenant = true;
}

function trackSecret({ type, object }: Change<StoredSecret>, tokens: readonly StoredToken[], memory: TrackedTokens): void {
  for (const { metadata } of tokens) {
    memory.of(metadata.uid).observeSecret(type === 'deleted' ? undefined : object);
  }
}
