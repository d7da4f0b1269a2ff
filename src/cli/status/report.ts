// The JSON of `purser status -o json`: documented in docs/cli.md, with times in the format of Kubernetes.

import { formatTimestamp } from '../../std/timestamp.ts';
import type { Evidence, Link } from './chain.ts';
import type { FleetStatus } from './fleet.ts';

const API_VERSION = 'cli.purser.dev/v1alpha1';

/** Returns the report on a fleet. */
export function fleetReport(status: FleetStatus): object {
  return { apiVersion: API_VERSION, kind: 'FleetStatus', ...withTimes(status) };
}

/** Returns the report on one ManagedToken. */
export function chainReport({ token: { metadata, status } }: Evidence, links: readonly Link[]): object {
  const { namespace, name } = metadata;
  return { apiVersion: API_VERSION, kind: 'ManagedTokenStatus', namespace, name, conditions: status?.conditions ?? [], links };
}

const TIMES: ReadonlySet<string> = new Set(['since', 'firstExpiry', 'expiresAt', 'nextRotation', 'silentSince']);

/** Returns a copy in which milliseconds since the epoch are timestamps. */
function withTimes(status: FleetStatus): object {
  const text = JSON.stringify(status, (key, value: unknown) =>
    TIMES.has(key) && typeof value === 'number' ? formatTimestamp(value) : value,
  );
  return JSON.parse(text) as object;
}
