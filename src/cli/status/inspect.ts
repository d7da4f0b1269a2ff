// Reads the objects for the chain of a ManagedToken, and reviews the permission and the token, with the user's permissions.

import { clusterSetOf } from '../../access/cluster-set.ts';
import { readTokenReviewStatus, reviewAccess } from '../../access/hub-review.ts';
import { findAllowedName, PROTECTED_NAMESPACES, toExactName, toIssueNames } from '../../access/issue-permission.ts';
import { toServiceAccountUser } from '../../access/user.ts';
import type { Cluster } from '../../api/cluster.gen.ts';
import type { ManagedToken } from '../../api/managed-token.gen.ts';
import { Clusters, ManagedTokens, Secrets, type ServiceAccount, ServiceAccounts, type Stored } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import type { ObjectName } from '../../kube/paths.ts';
import { TokenReviews } from '../../kube/reviews.ts';
import { hasReason, ignoreReasons } from '../../kubernetes/status.ts';
import { normalizeServer } from '../../targets/policy/registration.ts';
import { secretNameOf } from '../../tokens/policy/secret.ts';
import { callPeer, type Peer } from '../cluster/peer.ts';
import { CommandError } from '../command.ts';
import { formatContextOption } from '../quote-shell.ts';
import { type CheckResult, decodeToken, type Evidence } from './chain.ts';

export interface InspectionOptions {
  readonly hub: Peer;
  /** The target cluster; undefined if the user named no context for it. */
  readonly target: Peer | undefined;
  readonly name: ObjectName & { readonly namespace: string };
}

/** Reads the evidence for a ManagedToken. Throws a CommandError if the ManagedToken does not exist. */
export async function inspect({ hub: { client: hub, context, kubeconfig }, target, name }: InspectionOptions): Promise<Evidence> {
  const token = await ignoreReasons(hub.get(ManagedTokens, name), 'NotFound');
  if (token === undefined)
    throw new CommandError(
      `ManagedToken ${name.namespace}/${name.name} was not found. List ManagedTokens with kubectl ${formatContextOption({ context, kubeconfig })}get managedtokens -A`,
    );
  const { namespace } = token.metadata;
  const { spec } = token;
  const [cluster, hasRequester, foundServiceAccount, secret] = await Promise.all([
    check(`permission to get clusters.registry.purser.dev named ${spec.clusterName}`, () =>
      ignoreNotFound(hub.get(Clusters, { name: spec.clusterName })),
    ),
    check(
      `permission to get serviceaccounts in namespace ${namespace}`,
      async () => (await ignoreNotFound(hub.get(ServiceAccounts, requesterOf(token)))) !== undefined,
    ),
    checkOnTarget(
      target,
      `permission to get serviceaccounts in namespace ${spec.serviceAccount.namespace} of the target cluster`,
      (client) => ignoreNotFound(client.get(ServiceAccounts, spec.serviceAccount)),
    ),
    check(`permission to get secrets in namespace ${namespace}`, () =>
      ignoreNotFound(hub.get(Secrets, { namespace, name: secretNameOf(token) })),
    ),
  ]);
  const issueName = await checkPermission(hub, token, cluster);
  const text = 'value' in secret ? decodeToken(secret.value) : '';
  const isElsewhere = target !== undefined && !isContextOfCluster(target, token, cluster, foundServiceAccount);
  const elsewhere = { needs: `a --target-context that refers to Cluster ${spec.clusterName}` };
  // Another cluster must not receive the token, and its service accounts are irrelevant for the token.
  const isUnrelated = isElsewhere && 'value' in foundServiceAccount && token.status?.serviceAccountUID !== undefined;
  const serviceAccount = isUnrelated ? elsewhere : foundServiceAccount;
  const isAccepted = isElsewhere
    ? elsewhere
    : await checkOnTarget(target, 'permission to create tokenreviews.authentication.k8s.io on the target cluster', (client) =>
        reviewToken(client, text, spec.audiences ?? []),
      );
  const exactName = toExactName(issueTargetOf(token));
  return { context, kubeconfig, token, hasRequester, issueName, exactName, cluster, serviceAccount, secret, isAccepted };
}

function requesterOf({ metadata, spec }: Stored<ManagedToken>): ObjectName {
  return { namespace: metadata.namespace, name: spec.requesterServiceAccountName };
}

function issueTargetOf({ spec }: Stored<ManagedToken>) {
  return { cluster: spec.clusterName, namespace: spec.serviceAccount.namespace, serviceAccount: spec.serviceAccount.name };
}

/**
 * Returns the RBAC resource name that permits the requester to issue the token; undefined if none does. If none does and the user is not
 * authorized to read the Cluster, returns the permission that the user needs, because the requester's permission may be for the Cluster's
 * set.
 */
async function checkPermission(
  hub: KubeClient,
  token: Stored<ManagedToken>,
  cluster: CheckResult<Stored<Cluster> | undefined>,
): Promise<CheckResult<string | undefined>> {
  const clusterSet = clusterSetOf('value' in cluster ? cluster.value : undefined);
  const issueName = await check('permission to create subjectaccessreviews.authorization.k8s.io', () =>
    reviewPermission(hub, token, clusterSet),
  );
  return 'value' in issueName && issueName.value === undefined && 'needs' in cluster ? cluster : issueName;
}

async function reviewPermission(hub: KubeClient, token: Stored<ManagedToken>, clusterSet: string): Promise<string | undefined> {
  const user = toServiceAccountUser(token.metadata.namespace, token.spec.requesterServiceAccountName);
  const names = toIssueNames({ ...issueTargetOf(token), clusterSet }, undefined, PROTECTED_NAMESPACES);
  return await findAllowedName(names, async (attributes) => (await reviewAccess(hub, user, attributes)).allowed);
}

/** Returns whether a context refers to the cluster of the token, by a registered address or by the UID of the service account. */
function isContextOfCluster(
  { client }: Peer,
  { status }: Stored<ManagedToken>,
  cluster: CheckResult<Stored<Cluster> | undefined>,
  serviceAccount: CheckResult<Stored<ServiceAccount> | undefined>,
): boolean {
  const endpoints = 'value' in cluster ? (cluster.value?.spec.orchestratorApiEndpoints.serverEndpoints ?? []) : [];
  const server = normalizeServer(client.transport.server);
  if (endpoints.some(({ serverAddress }) => normalizeServer(serverAddress) === server)) return true;
  const uid = 'value' in serviceAccount ? serviceAccount.value?.metadata.uid : undefined;
  return uid !== undefined && uid === status?.serviceAccountUID;
}

/**
 * Returns whether the target accepts the token; undefined if the token is empty. Sends the token only to the address of the user's context.
 */
async function reviewToken(target: KubeClient, token: string, audiences: readonly string[]): Promise<boolean | undefined> {
  if (token === '') return undefined;
  const review = target.createReview(TokenReviews, { spec: { token, audiences: [...audiences] } });
  return (await readTokenReviewStatus(review)).authenticated;
}

async function checkOnTarget<T>(
  target: Peer | undefined,
  needs: string,
  read: (client: KubeClient) => Promise<T>,
): Promise<CheckResult<T>> {
  return target === undefined ? { needs: '--target-context' } : await callPeer(target, (client) => check(needs, () => read(client)));
}

/** Returns the result of `read`, or `needs` if the server rejects the request with Forbidden or Unauthorized. */
async function check<T>(needs: string, read: () => Promise<T>): Promise<CheckResult<T>> {
  try {
    return { value: await read() };
  } catch (error) {
    if (hasReason(error, 'Forbidden', 'Unauthorized')) return { needs };
    throw error;
  }
}

function ignoreNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  return ignoreReasons(request, 'NotFound');
}
