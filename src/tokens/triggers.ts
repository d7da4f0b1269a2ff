// Which changes on the hub wake which ManagedTokens.

import { filter, map, merge, mergeMap, type Observable, tap } from 'rxjs';
import type { Cluster } from '../api/cluster.gen.ts';
import type { ManagedToken } from '../api/managed-token.gen.ts';
import { TokensGroup } from '../api/names.ts';
import { type ClusterRole, type ClusterRoleBinding, ManagedTokens } from '../api/resources.ts';
import type { Change } from '../kube/store.ts';
import { annotationsChanged, anyOf, conditionTurnedTrue, generationChanged, statusNotOurs } from '../runtime/predicates.ts';
import { mapped, owner, self, statesOf } from '../runtime/trigger.ts';
import { type HubView, keysOf, requesterKeyOf, secretKeyOf, type TokenInformers } from './hub-view.ts';
import { issueRules, subjectsOf } from './issue-permissions.ts';
import type { TokenMemory } from './memory.ts';
import type { StoredSecret } from './policy/observation.ts';
import { nextClaimants } from './policy/secret-claim.ts';

/** The keys of ManagedTokens to be looked at, as things change. */
export function wakes(informers: TokenInformers, view: HubView, memory: TokenMemory): Observable<string> {
  const { tokens, clusters, secrets, credentials, requesters } = informers;
  const written = (key: string) => memory.of(view.tokens.get(key)?.metadata.uid ?? '').status;
  const isNews = anyOf<ManagedToken>(generationChanged, annotationsChanged(`${TokensGroup}/`), statusNotOurs(written));
  const rivals = mapped((token: ManagedToken) => keysOf(nextClaimants(view.tokensForSecret(secretKeyOf(token)))));
  return merge(
    tokens.changes$.pipe(
      tap((change) => remember(change, memory)),
      filter(isNews),
      // Whoever wants the same Secret may have been waiting for this one to go.
      mergeMap((change) => [...new Set([...self(change), ...rivals(change)])]),
    ),
    secrets.changes$.pipe(
      tap((change) => rememberSecret(change, view.tokensForSecret(change.key), memory)),
      filter((change) => !isOwnWrite(change, view, memory)),
      mergeMap((change) => [...new Set([...owner(ManagedTokens)(change), ...keysOf(nextClaimants(view.tokensForSecret(change.key)))])]),
    ),
    clusters.changes$.pipe(
      filter(anyOf<Cluster>(generationChanged, conditionTurnedTrue('Ready'))),
      mergeMap(({ key }) => keysOf(view.tokensForCluster(key))),
    ),
    merge(...credentials.map(({ changes$ }) => changes$)).pipe(
      mergeMap(({ key }) => view.clustersForCredential(key)),
      mergeMap(({ metadata }) => keysOf(view.tokensForCluster(metadata.name ?? ''))),
    ),
    requesters.changes$.pipe(
      filter(({ type }) => type !== 'updated'),
      mergeMap(({ key }) => keysOf(view.tokensOfRequester(key))),
    ),
    permissionWakes(informers, view).pipe(
      // What a review said before may no longer be true.
      tap(({ metadata }) => memory.of(metadata.uid ?? '').doubt()),
      map((token) => keysOf([token])[0] ?? ''),
    ),
  );
}

/** Those whose requesters a changed role or binding is about. */
function permissionWakes({ roles, bindings }: TokenInformers, view: HubView): Observable<ManagedToken> {
  const mayIssue = ({ roleRef }: ClusterRoleBinding) => {
    const role = view.roles.get(roleRef.name);
    return role === undefined || issueRules(role).length > 0;
  };
  const changed$ = merge(
    roles.changes$.pipe(
      filter((change) => statesOf(change).some((role) => issueRules(role).length > 0)),
      mergeMap(({ object }: Change<ClusterRole>) => view.bindingsTo(object.metadata.name ?? '').flatMap(subjectsOf)),
    ),
    bindings.changes$.pipe(
      filter((change) => statesOf(change).some(mayIssue)),
      mergeMap(mapped((binding: ClusterRoleBinding) => subjectsOf(binding))),
    ),
  );
  return changed$.pipe(mergeMap((subject) => tokensOfSubject(subject, view)));
}

const ACCOUNT = /^User system:serviceaccount:([^:]+):([^:]+)$/;
const NAMESPACE = /^Group system:serviceaccounts:(.+)$/;

function tokensOfSubject(subject: string, view: HubView): readonly ManagedToken[] {
  if (subject === 'Group system:serviceaccounts' || subject === 'Group system:authenticated') return view.tokens.list();
  const [, namespace, name] = ACCOUNT.exec(subject) ?? [];
  if (namespace !== undefined) return view.tokensOfRequester(`${namespace}/${name}`);
  return view.tokensOfNamespace(NAMESPACE.exec(subject)?.[1] ?? '');
}

/** The Secret is as we wrote it: whoever wrote it has looked at everything that follows from it. */
function isOwnWrite({ type, key, object }: Change<StoredSecret>, view: HubView, memory: TokenMemory): boolean {
  const tokens = view.tokensForSecret(key);
  return type !== 'deleted' && tokens.length === 1 && tokens.every(({ metadata }) => memory.of(metadata.uid ?? '').recognises(object));
}

function remember(change: Change<ManagedToken>, memory: TokenMemory): void {
  const { type, object } = change;
  const uid = object.metadata.uid ?? '';
  if (type === 'deleted') return memory.forget(uid);
  memory.of(uid).sawToken(object);
  // Changes of RBAC are not noticed for a requester that the spec does not name meanwhile.
  if (new Set(statesOf(change).map(requesterKeyOf)).size > 1) memory.of(uid).doubt();
}

function rememberSecret({ type, object }: Change<StoredSecret>, tokens: readonly ManagedToken[], memory: TokenMemory): void {
  for (const { metadata } of tokens) {
    const { secret } = memory.of(metadata.uid ?? '');
    if (type === 'deleted') secret.forget();
    else secret.saw(object);
  }
}
