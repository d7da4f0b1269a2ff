// Clusters and ManagedTokens as the page shows them. All data in a response is untrusted: a field of an unexpected type is treated as
// absent, and invisible characters in strings are escaped.

import { escapeInvisible } from './visible-text.ts';

/** Fields of an object from a response. */
type Fields = Readonly<Record<string, unknown>>;

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** A condition. Times are in milliseconds since the epoch. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  /** Cause and remedy; empty if there is none. */
  readonly message: string;
  readonly since: number | undefined;
}

/** A ManagedToken. Times are in milliseconds since the epoch; undefined if unknown. */
export interface Token {
  /** Namespace and name, separated by a slash. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly cluster: string;
  /** Namespace and name of the service account on the target cluster, separated by a slash. */
  readonly account: string;
  /** Name of the service account on the hub that requests the token. */
  readonly requester: string;
  readonly audiences: readonly string[];
  readonly outputs: readonly string[];
  readonly secret: string;
  readonly revocation: string;
  readonly isSuspended: boolean;
  readonly createdAt: number | undefined;
  readonly issuedAt: number | undefined;
  readonly expiresAt: number | undefined;
  readonly renewsAt: number | undefined;
  readonly rotations: number | undefined;
  readonly credentialId: string;
  readonly ready: Condition | undefined;
  readonly rotationFailing: Condition | undefined;
}

export interface Cluster {
  /** Name of the Cluster. */
  readonly key: string;
  readonly labels: readonly string[];
  readonly version: string;
  readonly type: string;
  readonly endpoints: readonly string[];
  readonly conditions: readonly Condition[];
  /** Duration of the last probe, in milliseconds; undefined if unknown, or if the page cannot read the Cluster on the hub. */
  readonly latencyMs: number | undefined;
  /**
   * Expiry of Purser's credential, in milliseconds since the epoch; undefined if there is none or it is unknown, or if the page cannot read
   * the Cluster on the hub.
   */
  readonly credentialExpiresAt: number | undefined;
}

/** Returns a ManagedToken; undefined if the object has no namespace or no name. */
export function toToken(object: unknown): Token | undefined {
  const { metadata, spec, status } = fieldsOf(object);
  const [namespace, name] = [textOf(fieldsOf(metadata)['namespace']), textOf(fieldsOf(metadata)['name'])];
  if (namespace === '' || name === '') return undefined;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    ...specOf(fieldsOf(spec)),
    ...statusOf(fieldsOf(metadata), fieldsOf(status), name, spec),
  };
}

function specOf(spec: Fields) {
  const serviceAccount = fieldsOf(spec['serviceAccount']);
  return {
    cluster: textOf(spec['clusterName']),
    account: `${textOf(serviceAccount['namespace'])}/${textOf(serviceAccount['name'])}`,
    requester: textOf(spec['requesterServiceAccountName']),
    audiences: textsOf(spec['audiences']),
    outputs: textsOf(fieldsOf(spec['secret'])['outputs']),
    revocation: textOf(spec['revocation']),
    isSuspended: fieldsOf(spec['rotation'])['suspend'] === true,
  };
}

function statusOf(metadata: Fields, status: Fields, name: string, spec: unknown) {
  const conditions = conditionsOf(status['conditions']);
  const { rotations } = status;
  return {
    secret: textOf(status['secretName']) || textOf(fieldsOf(fieldsOf(spec)['secret'])['name']) || name,
    createdAt: parseTime(metadata['creationTimestamp']),
    issuedAt: parseTime(status['issuedAt']),
    expiresAt: parseTime(status['expirationTimestamp']),
    renewsAt: parseTime(status['nextRotationTime']),
    rotations: typeof rotations === 'number' ? rotations : undefined,
    credentialId: textOf(status['credentialID']),
    ready: conditions.find(({ type }) => type === 'Ready'),
    rotationFailing: conditions.find(({ type }) => type === 'RotationFailing'),
  };
}

/** Returns a Cluster; undefined if the object has no name. */
export function toCluster(object: unknown): Cluster | undefined {
  const { metadata, spec, status } = fieldsOf(object);
  const { name, labels } = fieldsOf(metadata);
  const key = textOf(name);
  if (key === '') return undefined;
  const observed = fieldsOf(status);
  const latency = observed['probeLatencyMilliseconds'];
  const { serverEndpoints } = fieldsOf(fieldsOf(spec)['orchestratorApiEndpoints']);
  return {
    key,
    labels: Object.entries(fieldsOf(labels)).flatMap(([label, value]) =>
      typeof value === 'string' ? [`${escapeInvisible(label)}=${escapeInvisible(value)}`] : [],
    ),
    version: textOf(observed['version']),
    type: textOf(observed['type']),
    endpoints: textsOf(listOf(serverEndpoints).map((endpoint) => fieldsOf(endpoint)['serverAddress'])),
    conditions: conditionsOf(observed['conditions']),
    latencyMs: typeof latency === 'number' ? latency : undefined,
    credentialExpiresAt: parseTime(observed['credentialExpirationTime']),
  };
}

/** Returns the condition of a Cluster with this type; undefined if there is none. */
export function findCondition({ conditions }: Cluster, type: string): Condition | undefined {
  return conditions.find((condition) => condition.type === type);
}

/** Returns the Cluster with the conditions of `hub`, and with the fields that only the hub returns; unchanged if `hub` is undefined. */
export function withHubFields(cluster: Cluster, hub: Cluster | undefined): Cluster {
  if (hub === undefined) return cluster;
  const { latencyMs, credentialExpiresAt } = hub;
  return { ...cluster, latencyMs, credentialExpiresAt, conditions: hub.conditions.length > 0 ? hub.conditions : cluster.conditions };
}

function conditionsOf(value: unknown): readonly Condition[] {
  return listOf(value).flatMap((each) => {
    const { status, reason, message, lastTransitionTime } = fieldsOf(each);
    const type = textOf(fieldsOf(each)['type']);
    if (type === '' || (status !== 'True' && status !== 'False' && status !== 'Unknown')) return [];
    return [{ type, status, reason: textOf(reason), message: textOf(message), since: parseTime(lastTransitionTime) }];
  });
}

/** Parses an RFC 3339 string to milliseconds since the epoch; returns undefined for any other value. */
export function parseTime(value: unknown): number | undefined {
  if (typeof value !== 'string' || !RFC_3339.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : at;
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[-+]\d\d:\d\d)$/i;

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : NO_FIELDS;
}

const NO_FIELDS: Fields = Object.freeze({});

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** Returns a string with escaped invisible characters; empty if the value is not a string. */
function textOf(value: unknown): string {
  return typeof value === 'string' ? escapeInvisible(value) : '';
}

function textsOf(value: unknown): readonly string[] {
  return listOf(value).flatMap((each) => textOf(each) || []);
}
