// Purser compared with the agent of open-cluster-management's managed-serviceaccount, on the same hub and target.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { PEER_CRDS } from '../../support/operator-crds.ts';
import { runScript } from '../child-process.ts';
import type { PeerCost, PeerFigures } from '../peers.ts';
import type { Chart, Figure, Scenario } from '../scenario.ts';

const AGENT = 'managed-serviceaccount agent';

const QUANTITIES: readonly { readonly name: string; readonly unit: string; readonly of: (cost: PeerCost) => number }[] = [
  { name: 'wall time', unit: 's', of: ({ seconds }) => seconds },
  { name: 'CPU per token', unit: 'ms', of: ({ cpuMsPerToken }) => cpuMsPerToken },
  { name: 'memory', unit: 'MB', of: ({ rssMegabytes }) => rssMegabytes },
];

/** New network namespace with loopback only: the agent listens on port 8000 of all addresses. */
const LOOPBACK_ONLY = ['unshare', '--user', '--map-root-user', '--net', 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh'];

export const peers: Scenario = {
  name: 'peers',
  title: 'First tokens, compared with managed-serviceaccount',
  sizeUnit: 'tokens',
  sizes: { small: 60, full: 300 },
  note: `First, Purser issues a token for each ManagedToken. Then, on the same hub and target, the agent of open-cluster-management's
managed-serviceaccount ${PEER_CRDS.version} issues a token for each ManagedServiceAccount, and creates a service account for each
token. Both start before the objects are created; the wall time ends with the last Secret. Both use their default limits; Purser logs only
warnings. The agent reconciles one object at a time and, by client-go's defaults, sends at most 5 requests per second to the target, with
bursts of 10; this rate limit determines its wall time. Purser limits the number of concurrent requests to a cluster, not their rate. The
scenario needs Go until the agent is built, and the Debian packages util-linux and iproute2.`,
  run: async ({ size }, progress) => {
    progress('building the agent, unless it is cached');
    const { status } = spawnSync(process.execPath, [join(import.meta.dirname, '../../real/build.ts'), 'peers'], { stdio: 'inherit' });
    if (status !== 0) throw new Error('The managed-serviceaccount agent could not be built; see the message above.');
    progress(`${size} tokens of Purser, then ${size} of the agent`);
    const measured = await runScript<PeerFigures>('peers.ts', [size], LOOPBACK_ONLY);
    return { measured, figures: toFigures(size, measured), charts: toCharts(size, measured) };
  },
};

function toFigures(size: number, { purser, agent }: PeerFigures): readonly Figure[] {
  const prefix = `${size.toLocaleString('en-US')} tokens`;
  return QUANTITIES.flatMap(({ name, unit, of }) => [
    { name: `${prefix}: Purser's ${name}, relative to the agent's`, value: of(purser) / of(agent), unit: '×' },
    { name: `${prefix}: Purser's ${name}`, value: of(purser), unit },
    { name: `${prefix}: the agent's ${name}`, value: of(agent), unit },
  ]);
}

function toCharts(size: number, { purser, agent }: PeerFigures): readonly Chart[] {
  return QUANTITIES.slice(0, 2).map(({ name, unit, of }) => ({
    name: `peers-${name.toLowerCase().replaceAll(' ', '-')}`,
    title: `${name[0]?.toUpperCase()}${name.slice(1)} for ${size.toLocaleString('en-US')} first tokens`,
    unit,
    bars: [
      { label: 'Purser', value: of(purser) },
      { label: AGENT, value: of(agent) },
    ],
  }));
}
