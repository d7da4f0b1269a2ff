// Waits until a Cluster is Ready, and prints its conditions as they change.

import type { Cluster, ClusterCondition } from '../../api/cluster.gen.ts';
import { ClusterConditionType } from '../../api/names.ts';
import { Clusters, type Stored } from '../../api/resources.ts';
import { CHECK_PURSER, CommandError, type CommandHost, ExitCode } from '../command.ts';
import { poll } from '../poll.ts';
import { toVisibleLine } from '../visible-text.ts';
import { callPeer, type Peer } from './peer.ts';

export interface WaitOptions {
  /** Name of the Cluster. */
  readonly name: string;
  /** resourceVersion of the Cluster to ignore, because its conditions are older than the registration; undefined to ignore none. */
  readonly outdated: string | undefined;
  /** Maximum time to wait, in milliseconds. */
  readonly timeoutMs: number;
}

/**
 * Waits until the Cluster is Ready, and prints each change to a condition. Throws a CommandError with the failing condition if the timeout
 * expires, and one with the cause if a request fails.
 */
export async function waitUntilReady(hub: Peer, { name, outdated, timeoutMs }: WaitOptions, host: CommandHost): Promise<void> {
  const { signal } = host;
  let shown: readonly string[] = [];
  let conditions: readonly ClusterCondition[] = [];
  const ready = await poll(timeoutMs, host, async () => {
    const cluster = await callPeer(hub, (client) => client.get(Clusters, { name }, { signal }));
    const isCurrent = cluster.metadata.resourceVersion !== outdated;
    conditions = isCurrent ? sortConditions(cluster) : [];
    const lines = conditions.map(formatCondition);
    for (const line of lines.filter((each) => !shown.includes(each))) host.print(`${line}\n`);
    shown = lines;
    return conditions.find(({ type, status }) => type === ClusterConditionType.ready && status === 'True');
  });
  if (ready === undefined) throw notReady(name, conditions);
}

/** Returns the conditions of a Cluster with Ready last, because Ready depends on the other conditions. */
export function sortConditions({ status }: Cluster): readonly ClusterCondition[] {
  const isReady = ({ type }: ClusterCondition) => type === ClusterConditionType.ready;
  const all = status?.conditions ?? [];
  return [...all.filter((condition) => !isReady(condition)), ...all.filter(isReady)];
}

/** Returns the first condition that is False, else the first that is Unknown; undefined if all are True. */
function findFailingCondition(conditions: readonly ClusterCondition[]): ClusterCondition | undefined {
  return conditions.find(({ status }) => status === 'False') ?? conditions.find(({ status }) => status === 'Unknown');
}

/**
 * Returns the resourceVersion of a Cluster whose conditions `waitUntilReady` must ignore; undefined if the Cluster has no conditions. The
 * conditions must be older than the registration: the Cluster was read before the registration was written, or was returned by the write.
 */
export function outdatedVersionOf({ metadata, status }: Stored<Cluster>): string | undefined {
  return status?.conditions === undefined ? undefined : metadata.resourceVersion;
}

function formatCondition({ type, status, reason = '' }: ClusterCondition): string {
  return toVisibleLine(`${type}=${status} ${reason}`);
}

function notReady(name: string, conditions: readonly ClusterCondition[]): CommandError {
  const failing = findFailingCondition(conditions);
  const cause = failing === undefined ? NO_CONDITION : `${formatCondition(failing)}: ${failing.message ?? ''}`;
  return new CommandError(`Cluster ${name} is not Ready yet: ${cause}`, ExitCode.notReady);
}

const NO_CONDITION = `Purser has not probed the cluster since the registration. ${CHECK_PURSER}. Then check that Purser can read Secrets in the namespace of the credential`;
