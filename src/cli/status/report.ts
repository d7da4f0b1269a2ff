// The documents that `purser status -o json` and `-o yaml` print; docs/cli.md describes them. Times are RFC 3339 timestamps, as in
// Kubernetes.

import { formatTimestamp } from '../../std/timestamp.ts';
import type { Evidence, Link } from './chain.ts';
import type { FleetStatus } from './fleet.ts';

const API_VERSION = 'cli.purser.dev/v1alpha1';

/** Returns the report on a fleet. */
export function toFleetReport(status: FleetStatus): object {
  return { apiVersion: API_VERSION, kind: 'FleetStatus', ...withTimes(status) };
}

/** Returns the report on one ManagedToken. */
export function toChainReport({ token: { metadata, status } }: Evidence, links: readonly Link[]): object {
  const { namespace, name } = metadata;
  return { apiVersion: API_VERSION, kind: 'ManagedTokenStatus', namespace, name, conditions: status?.conditions ?? [], links };
}

/** Names of the fields whose values are times. */
const TIME_FIELDS: ReadonlySet<string> = new Set(['since', 'firstExpiry', 'expiresAt', 'nextRotation', 'silentSince']);

/** Returns a copy with timestamps in place of milliseconds since the epoch. */
function withTimes(status: FleetStatus): object {
  const text = JSON.stringify(status, (key, value: unknown) =>
    TIME_FIELDS.has(key) && typeof value === 'number' ? formatTimestamp(value) : value,
  );
  return JSON.parse(text) as object;
}
