// `purser cluster list` and `purser cluster show`: the registered clusters with their health and Purser's credentials.

import type { Cluster, ClusterCondition } from '../../api/cluster.gen.ts';
import { ClusterConditionType } from '../../api/names.ts';
import { Clusters, type Event, Events, type Stored } from '../../api/resources.ts';
import { findCondition } from '../../kubernetes/conditions.ts';
import { formatHumanDuration } from '../../kubernetes/wire/go-duration.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import type { CommandHost } from '../command.ts';
import type { OutputFormat } from '../options.ts';
import { type Column, formatTable, printList, printObject, toCell } from '../output.ts';
import { readCluster, readClusters } from './credential.ts';
import { callPeer, type Peer } from './peer.ts';
import { sortConditions } from './readiness.ts';

export interface FleetOptions {
  readonly output: OutputFormat | undefined;
  /** Label selector; undefined for all Clusters. */
  readonly selector: string | undefined;
}

/** Prints all Clusters that match the selector. Throws a CommandError if the request fails. */
export async function listClusters(hub: Peer, { output, selector }: FleetOptions, host: CommandHost): Promise<void> {
  printList(host, await readClusters(hub, selector, host), { resource: Clusters, columns: buildColumns(host), output });
}

/**
 * Prints one Cluster in the format of `output`; if `output` is undefined, prints its conditions, addresses, credential and latest events.
 * Throws a CommandError if the Cluster does not exist, or if a request fails.
 */
export async function showCluster(hub: Peer, name: string, output: OutputFormat | undefined, host: CommandHost): Promise<void> {
  const options = { signal: host.signal };
  const cluster = await readCluster(hub, name, options);
  if (output !== undefined) return printObject(host, cluster, { resource: Clusters, columns: buildColumns(host), output });
  const fieldSelector = `involvedObject.kind=${Clusters.kind},involvedObject.name=${name}`;
  const { items } = await callPeer(hub, (client) => client.list(Events, { ...options, fieldSelector }));
  host.print(describeCluster(cluster, items, host));
}

/** Returns the columns of the fleet table. On a terminal, times are countdowns and ages; elsewhere they are timestamps. */
function buildColumns(host: CommandHost): readonly Column<Cluster>[] {
  return [
    { name: 'NAME', text: ({ metadata }) => metadata.name ?? '' },
    { name: 'READY', text: (cluster) => readyOf(cluster)?.status ?? 'Unknown' },
    { name: 'REASON', text: (cluster) => readyOf(cluster)?.reason ?? 'NotProbed' },
    { name: 'VERSION', text: ({ status }) => status?.version ?? '' },
    { name: 'LATENCY', text: ({ status }) => formatLatency(status?.probeLatencyMilliseconds) },
    { name: 'CREDENTIAL EXPIRES', text: ({ status }) => formatFuture(status?.credentialExpirationTime, host) },
    { name: 'LAST PROBE', text: ({ status }) => formatPast(status?.lastProbeTime, host) },
    { name: 'TYPE', wide: true, text: ({ status }) => status?.type ?? '' },
    { name: 'ENDPOINT', wide: true, text: ({ status }) => status?.activeEndpoint ?? '' },
    { name: 'CREDENTIAL', wide: true, text: (cluster) => formatCredential(cluster) },
    { name: 'RENEWAL', wide: true, text: ({ status }) => formatFuture(status?.credentialRenewalTime, host, 'overdue') },
    { name: 'AGE', wide: true, text: ({ metadata }) => formatPast(metadata.creationTimestamp, host) },
  ];
}

function readyOf(cluster: Cluster): ClusterCondition | undefined {
  return findCondition(cluster, ClusterConditionType.ready);
}

function formatLatency(ms: number | undefined): string {
  return ms === undefined ? '' : `${ms}ms`;
}

/** Returns a countdown on a terminal, and the timestamp elsewhere; `past` replaces the countdown for a time that has passed. */
function formatFuture(time: string | undefined, { clock, columns: width }: CommandHost, past = 'expired'): string {
  const at = parseTimestamp(time);
  if (at === undefined || width === undefined) return time ?? '';
  return at <= clock.now() ? past : `in ${formatHumanDuration(at - clock.now())}`;
}

function formatPast(time: string | undefined, { clock, columns: width }: CommandHost): string {
  const at = parseTimestamp(time);
  return at === undefined || width === undefined ? (time ?? '') : `${formatHumanDuration(clock.now() - at)} ago`;
}

/** Returns the reference to the credential, for example `Secret purser-system/a`; empty if the Cluster has no credential. */
function formatCredential({ spec }: Cluster): string {
  const controller = spec.authInfo?.controller;
  return controller === undefined ? '' : `${controller.kind} ${controller.namespace}/${controller.name}`;
}

/** Maximum number of events to print. */
const MAX_EVENTS = 10;

function describeCluster(cluster: Stored<Cluster>, events: readonly Event[], host: CommandHost): string {
  const { serverEndpoints } = cluster.spec.orchestratorApiEndpoints;
  const latest = events.toSorted((a, b) => parseLastSeen(b) - parseLastSeen(a)).slice(0, MAX_EVENTS);
  return [
    toFields(cluster, host)
      .map(([name, text]) => `${`${name}:`.padEnd(FIELD_WIDTH)}${toCell(text)}\n`)
      .join(''),
    `\nEndpoints:\n${indent(formatTable(ENDPOINT_COLUMNS, serverEndpoints))}`,
    `\nConditions:\n${indent(formatTable(buildConditionColumns(host), sortConditions(cluster)))}`,
    latest.length === 0 ? '\nEvents: none\n' : `\nEvents:\n${indent(formatTable(buildEventColumns(host), latest))}`,
  ].join('');
}

/** Returns the names and values of the fields to print above the tables. */
function toFields(cluster: Stored<Cluster>, host: CommandHost): readonly (readonly [string, string])[] {
  const { metadata, spec, status = {} } = cluster;
  const labels = Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const { caBundle } = spec.orchestratorApiEndpoints;
  return [
    ['Name', metadata.name],
    ['Labels', labels.join(', ')],
    ['Version', [status.version, status.type].filter(Boolean).join(', ')],
    ['CA', caBundle === undefined ? 'public CAs' : 'caBundle'],
    ['Active endpoint', status.activeEndpoint ?? ''],
    ['Latency', formatLatency(status.probeLatencyMilliseconds)],
    ['Last probe', formatPast(status.lastProbeTime, host)],
    ['Credential', formatCredential(cluster)],
    ['  Renewal', spec.credential?.renewal ?? 'Auto'],
    ['  Expires', formatFuture(status.credentialExpirationTime, host)],
    ['  Next renewal', formatFuture(status.credentialRenewalTime, host, 'overdue')],
  ];
}

const FIELD_WIDTH = 18;

const ENDPOINT_COLUMNS: readonly Column<Cluster['spec']['orchestratorApiEndpoints']['serverEndpoints'][number]>[] = [
  { name: 'ADDRESS', text: ({ serverAddress }) => serverAddress },
  { name: 'CLIENTS', text: ({ clientCIDR }) => clientCIDR },
];

function buildConditionColumns(host: CommandHost): readonly Column<ClusterCondition>[] {
  return [
    { name: 'TYPE', text: ({ type }) => type },
    { name: 'STATUS', text: ({ status }) => status },
    { name: 'REASON', text: ({ reason }) => reason ?? '' },
    { name: 'CHANGED', text: ({ lastTransitionTime }) => formatPast(lastTransitionTime, host) },
    { name: 'MESSAGE', text: ({ message }) => message ?? '' },
  ];
}

function buildEventColumns(host: CommandHost): readonly Column<Event>[] {
  return [
    { name: 'LAST SEEN', text: (event) => formatPast(lastSeenOf(event), host) },
    { name: 'TYPE', text: ({ type }) => type ?? '' },
    { name: 'REASON', text: ({ reason }) => reason ?? '' },
    { name: 'COUNT', text: ({ count }) => String(count ?? 1) },
    { name: 'MESSAGE', text: ({ message }) => message ?? '' },
  ];
}

function lastSeenOf({ lastTimestamp, eventTime, metadata }: Event): string {
  return lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '';
}

function parseLastSeen(event: Event): number {
  return parseTimestamp(lastSeenOf(event)) ?? 0;
}

function indent(text: string): string {
  return text.replace(/^(?=.)/gm, '  ');
}
