// Reads the objects for `purser status`, and prints the report.

import { Clusters, ManagedTokenSets, ManagedTokens } from '../../api/resources.ts';
import type { KubeClient } from '../../kube/client.ts';
import { hasReason, ignoreReasons } from '../../kubernetes/status.ts';
import { CommandError, type CommandHost } from '../command.ts';
import type { OutputFormat } from '../options.ts';
import { formatDocument } from '../output.ts';
import { toLinks } from './chain.ts';
import { toFleetStatus } from './fleet.ts';
import { type InspectionOptions, inspect } from './inspect.ts';
import { toChainReport, toFleetReport } from './report.ts';
import { formatChain, formatFleet, type Paint } from './text.ts';

interface Appearance {
  readonly output: OutputFormat | undefined;
  readonly paint: Paint;
}

export interface FleetStatusOptions extends Appearance {
  readonly hub: KubeClient;
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
}

/**
 * Prints the problems of the ManagedTokens and ManagedTokenSets in `namespace`, and of all Clusters, that the user is authorized to list.
 * Throws a CommandError if the user is not authorized to list ManagedTokens.
 */
export async function showFleet({ hub, namespace, output, paint }: FleetStatusOptions, host: CommandHost): Promise<void> {
  const [tokens, clusters, sets] = await Promise.all([
    listTokens(hub, namespace),
    ignoreReasons(hub.listAll(Clusters), 'Forbidden', 'Unauthorized'),
    ignoreReasons(hub.listAll(ManagedTokenSets, { namespace }), 'Forbidden', 'Unauthorized'),
  ]);
  const now = host.clock.now();
  const status = toFleetStatus({ tokens, clusters, sets }, now);
  host.print(isDocument(output) ? formatDocument(toFleetReport(status), output) : formatFleet(status, now, paint));
  if (namespace !== undefined && tokens.length === 0)
    host.warn(`There are no ManagedTokens in namespace ${namespace}. Use -A to check all namespaces.\n`);
}

/** Prints the chain of one ManagedToken. Throws a CommandError if the ManagedToken does not exist. */
export async function showToken({ output, paint, ...inspection }: InspectionOptions & Appearance, host: CommandHost): Promise<void> {
  const evidence = await inspect(inspection);
  const now = host.clock.now();
  const links = toLinks(evidence, now);
  host.print(isDocument(output) ? formatDocument(toChainReport(evidence, links), output) : formatChain(evidence.token, links, now, paint));
}

function isDocument(output: OutputFormat | undefined): output is 'json' | 'yaml' {
  return output === 'json' || output === 'yaml';
}

async function listTokens(hub: KubeClient, namespace: string | undefined) {
  try {
    return await hub.listAll(ManagedTokens, { namespace });
  } catch (error) {
    if (!hasReason(error, 'Forbidden')) throw error;
    const where =
      namespace === undefined
        ? 'in all namespaces. Select a namespace with -n'
        : `in namespace ${namespace}. Select another namespace with -n`;
    throw new CommandError(`not permitted to list ManagedTokens ${where}`);
  }
}
