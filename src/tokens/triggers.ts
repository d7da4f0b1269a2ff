// Triggers: the changes on the hub after which ManagedTokens are reconciled.

import { filter, map, merge, mergeMap, type Observable, tap } from 'rxjs';
import type { Cluster } from '../api/cluster.gen.ts';
import { TokensGroup } from '../api/names.ts';
import { ManagedTokens } from '../api/resources.ts';
import { objectKey } from '../kube/paths.ts';
import type { Change } from '../kube/store.ts';
import { annotationsChanged, anyOf, conditionTurnedTrue, generationChanged, statusNotOurs } from '../runtime/predicates.ts';
import { mapToKeys, owner, self, statesOf } from '../runtime/trigger.ts';
import { type HubView, keysOf, requesterKeyOf, secretKeyOf, type TokenInformers } from './informers.ts';
import { nextClaimants, type StoredSecret } from './policy/secret.ts';
import type { StoredToken } from './policy/spec.ts';
import type { TrackedTokens } from './tracked-token.ts';

/** Emits the keys of ManagedTokens to reconcile. */
export function tokenTriggers(informers: TokenInformers, view: HubView, memory: TrackedTokens): Observable<string> {
  const { tokens, clusters, secrets, credentials, requesters } = informers;
  const written = (key: string) => memory.of(view.tokens.get(key)?.metadata.uid).status;
  const isNews = anyOf<StoredToken>(generationChanged, annotationsChanged(`${TokensGroup}/`), statusNotOurs(written));
  const rivals = mapToKeys((token: StoredToken) => keysOf(nextClaimants(view.tokensForSecret(secretKeyOf(token)))));
  const tenantTriggers$ = merge(
    tokens.changes$.pipe(
      tap((change) => trackToken(change, memory)),
      filter(isNews),
      // Other ManagedTokens that name the same Secret may wait for this one to be deleted.
      mergeMap((change) => [...new Set([...self(change), ...rivals(change)])]),
    ),
    secrets.changes$.pipe(
      tap((change) => trackSecret(change, view.tokensForSecret(change.key), memory)),
      filter((change) => !isOwnWrite(change, view, memory)),
      mergeMap((change) => [...new Set([...owner(ManagedTokens)(change), ...keysOf(nextClaimants(view.tokensForSecret(change.key)))])]),
    ),
    requesters.changes$.pipe(
      filter(({ type }) => type !== 'updated'),
      mergeMap(({ key }) => keysOf(view.tokensOfRequester(key))),
    ),
  );
  return merge(
    tenantTriggers$.pipe(tap((key) => trackTenantTrigger(view.tokens.get(key), memory))),
    clusters.changes$.pipe(
      filter(anyOf<Cluster>(generationChanged, conditionTurnedTrue('Ready'))),
      mergeMap(({ key }) => keysOf(view.tokensForCluster(key))),
    ),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(
      mergeMap(({ key }) => view.clustersForCredential(key)),
      mergeMap(({ metadata }) => keysOf(view.tokensForCluster(metadata.name))),
    ),
    permissionTriggers(informers, view).pipe(
      // Earlier reviews may no longer apply.
      tap(({ metadata }) => memory.keep(metadata.uid).recordRbacChange()),
      map(objectKey),
    ),
  );
}

/** Emits the ManagedTokens whose requesters a changed role or binding affects. */
function permissionTriggers(informers: TokenInformers, view: HubView): Observable<StoredToken> {
  return view.permissions
    .follow(informers)
    .pipe(mergeMap((subjects) => new Set([...subjects].flatMap((each) => tokensOfSubject(each, view)))));
}

const ACCOUNT = /^User\/system:serviceaccount:([^:]+):([^:]+)$/;
const NAMESPACE = /^Group\/system:serviceaccounts:(.+)$/;

function tokensOfSubject(subject: string, view: HubView): readonly StoredToken[] {
  if (subject === 'Group/system:serviceaccounts' || subject === 'Group/system:authenticated') return view.tokens.list();
  const [, namespace, name] = ACCOUNT.exec(subject) ?? [];
  if (namespace !== undefined) return view.tokensOfRequester(`${namespace}/${name}`);
  const [, group] = NAMESPACE.exec(subject) ?? [];
  return group === undefined ? [] : view.tokensOfNamespace(group);
}

/** Returns whether a change is Purser's own write, after which the writing run has reconciled everything. */
function isOwnWrite({ type, key, object }: Change<StoredSecret>, view: HubView, memory: TrackedTokens): boolean {
  const tokens = view.tokensForSecret(key);
  return type !== 'deleted' && tokens.length === 1 && tokens.every(({ metadata }) => memory.of(metadata.uid).isOwnWrite(object));
}

function trackToken(change: Change<StoredToken>, memory: TrackedTokens): void {
  const { type, object } = change;
  const uid = object.metadata.uid;
  if (type === 'deleted') return memory.forget(uid);
  memory.of(uid).observeToken(object);
  // A change of RBAC reaches only the ManagedTokens that name the requester at that time.
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
