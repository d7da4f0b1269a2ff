// The validity and the renewal of Purser's credential for a cluster.

import type { Secret, Stored } from '../api/resources.ts';
import type { ClusterClients } from '../targets/cluster-clients.ts';
import { clustersOf, credentialLifetime, readCredential, readTokenInUse } from '../targets/credential.ts';
import { IssueError } from '../targets/issue-error.ts';
import { credentialKey } from '../targets/policy/registration.ts';
import { type RenewalFailure, renewalDueAt, renewalTerms, type TokenInUse } from '../targets/policy/renewal.ts';
import { parseRenewal, revokeRequestOf } from '../targets/policy/renewed-secret.ts';
import type { RegisteredCluster } from '../targets/registered-cluster.ts';
import type { CredentialTimes } from '../telemetry/exposition.ts';
import type { CredentialEvidence, StoredEvidence, Validity } from './policy/conditions.ts';
import type { RegistryView } from './registry-view.ts';

/** Lookups that credential freshness needs from the cluster clients. */
export type CredentialClients = Pick<ClusterClients, 'isHub' | 'hubTokenTimes'>;

/** Returns the evidence about Purser's credential for the CredentialFresh condition. */
export function credentialEvidence(
  { cluster, credential, renewed }: RegisteredCluster,
  view: Pick<RegistryView, 'clustersOfCredential'>,
  clients: CredentialClients,
): CredentialEvidence {
  const isOwn = cluster.spec.authInfo?.controller?.kind === 'ServiceAccount' && clients.isHub(cluster);
  if (isOwn) return { type: 'own' };
  const stored = credential && readStored(credential, renewed);
  // A user who may write Clusters must not learn the validity of the credential of another Cluster.
  if (credential === undefined || stored === undefined || !stored.clusters.includes(cluster.metadata.name)) return { type: 'missing' };
  const { clusters, token, serviceAccount } = stored;
  if (serviceAccount !== undefined) return { type: 'federated', serviceAccount, times: clients.hubTokenTimes(cluster) };
  const users = view.clustersOfCredential(credentialKey(cluster)).filter(({ metadata }) => clusters.includes(metadata.name));
  const renewAt = token && renewalDueAt(token, renewalTerms(users), credential.metadata.uid);
  const failure = renewAt === undefined ? revocationFailure(credential, renewed) : undefined;
  return { ...storedEvidence(stored, renewAt, cluster.metadata.name), ...failure };
}

/**
 * Returns the audiences that a cluster's API server accepts: those of the token that Purser uses there or, for a federated cluster,
 * those that the server stated in a review, and until the first `reviewed` of a term those of the status. Undefined if they are unknown.
 */
export function apiAudiences(
  { cluster, credential, renewed }: RegisteredCluster,
  reviewed: readonly string[] | undefined,
): readonly string[] | undefined {
  const stored = credential && readStored(credential, renewed);
  if (stored === undefined || !stored.clusters.includes(cluster.metadata.name)) return undefined;
  const stated = stored.serviceAccount === undefined ? undefined : (reviewed ?? cluster.status?.apiAudiences);
  const audiences = stored.token?.audiences ?? stated;
  const usable = audiences?.filter(({ length }) => length > 0 && length <= MAX_AUDIENCE_LENGTH).slice(0, MAX_AUDIENCES);
  return usable?.length ? usable : undefined;
}

/** Limits of the custom resource definition. */
const MAX_AUDIENCES = 16;
const MAX_AUDIENCE_LENGTH = 256;

function storedEvidence({ validity, token }: ReadCredential, renewAt: number | undefined, cluster: string): StoredEvidence {
  if (token === undefined) return { type: 'stored', validity };
  return { type: 'stored', validity, renewAt, isSupplied: token.isSupplied && renewAt !== undefined, cluster };
}

const NOT_RENEWED: RenewalFailure = { reason: 'CredentialNotRevoked', detail: 'Purser does not renew this credential' };

/** Returns the failure of a requested revocation of a credential that Purser does not renew; undefined without a request. */
function revocationFailure(
  credential: Stored<Secret>,
  renewed: Stored<Secret> | undefined,
): { readonly failure: RenewalFailure } | undefined {
  const request = revokeRequestOf(credential);
  const revoked = renewed && parseRenewal(renewed, credential.metadata.uid)?.revoked;
  return request === undefined || request === revoked ? undefined : { failure: NOT_RENEWED };
}

/**
 * Yields the times of Purser's credential for each Cluster; omits credentials that do not expire or whose expiry is unknown. Tokens of the
 * hub are omitted unless `isProbing`: a process that sends no probes does not renew them in time.
 */
export function* credentialTimes(view: RegistryView, clients: CredentialClients, isProbing: boolean): Generator<CredentialTimes> {
  for (const registered of view.allRegistered()) {
    const cluster = registered.cluster.metadata.name;
    const evidence = credentialEvidence(registered, view, clients);
    if (evidence.type === 'federated' && evidence.times !== undefined && isProbing) yield { cluster, ...evidence.times };
    if (evidence.type !== 'stored') continue;
    const { startsAt: issuedAt, expiresAt } = evidence.validity ?? {};
    if (expiresAt !== undefined) yield { cluster, issuedAt, expiresAt, renewAt: evidence.renewAt };
  }
}

interface ReadCredential {
  readonly renewed: Stored<Secret> | undefined;
  readonly clusters: readonly string[];
  /** Validity of the token; undefined if the token is not a JWT and was not renewed. */
  readonly validity: Validity | undefined;
  /** Token in use; undefined for a credential that cannot be renewed. */
  readonly token: TokenInUse | undefined;
  /** Namespace and name of the service account on the hub; undefined for a stored credential. */
  readonly serviceAccount?: string;
}

/** Known credentials by Secret: parsing certificates is expensive, and informers replace Secrets rather than change them. */
const STORED = new WeakMap<Secret, ReadCredential | { readonly renewed: Stored<Secret> | undefined; readonly clusters?: never }>();

/** Returns undefined for an unreadable credential. */
function readStored(credential: Stored<Secret>, renewed: Stored<Secret> | undefined): ReadCredential | undefined {
  const known = STORED.get(credential);
  const stored = known !== undefined && known.renewed === renewed ? known : (read(credential, renewed) ?? { renewed });
  STORED.set(credential, stored);
  return stored.clusters === undefined ? undefined : stored;
}

function read(credential: Stored<Secret>, renewed: Stored<Secret> | undefined): ReadCredential | undefined {
  try {
    const registered = readCredential(credential);
    const clusters = clustersOf(credential);
    if (registered.type === 'serviceAccount') {
      const serviceAccount = `${credential.metadata.namespace}/${registered.name}`;
      return { renewed, clusters, validity: undefined, token: undefined, serviceAccount };
    }
    const token = readTokenInUse(credential, renewed);
    const isRenewed = token !== undefined && !token.isSupplied;
    const validity = isRenewed ? { startsAt: token.issuedAt, expiresAt: token.expiresAt } : credentialLifetime(registered);
    return { renewed, clusters, validity, token };
  } catch (error) {
    if (!(error instanceof IssueError)) throw error;
    return undefined;
  }
}
