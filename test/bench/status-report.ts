// Time that `purser status` needs after its list requests: `node test/bench/status-report.ts [TOKENS]`. One in ten tokens fails.
// Prints JSON.

import { setTimeout as delay } from 'node:timers/promises';
import type { ManagedToken } from '../../src/api/managed-token.gen.ts';
import type { Stored } from '../../src/api/resources.ts';
import { toFleetStatus } from '../../src/cli/status/fleet.ts';
import { formatFleet } from '../../src/cli/status/text.ts';
import { formatTimestamp } from '../../src/std/timestamp.ts';
import { aCluster, aToken } from '../support/builders.ts';
import { round } from './process-usage.ts';

function createToken(index: number, now: number): Stored<ManagedToken> {
  const isFailing = index % 10 === 0;
  const condition = (type: string, isTrue: boolean) => ({
    type,
    status: isTrue ? ('True' as const) : ('False' as const),
    reason: isFailing ? 'Forbidden' : 'Issued',
    message: 'User "system:serviceaccount:team-a:default" cannot issue clusters/token "prod-eu/deploy/deployer" in registry.purser.dev.',
    lastTransitionTime: formatTimestamp(now - index * 1_000),
  });
  return aToken()
    .withMetadata({ name: `token-${index}`, namespace: `team-${index % 50}` })
    .withStatus({
      expirationTimestamp: formatTimestamp(now + index * 1_000),
      nextRotationTime: formatTimestamp(now + index * 500),
      conditions: [condition('Ready', !isFailing), condition('RotationFailing', isFailing)],
    })
    .build();
}

const [count = '5000'] = process.argv.slice(2);
const now = Date.now();
const tokens = Array.from({ length: Number(count) }, (_, index) => createToken(index, now));
await delay(0);
const startedAt = performance.now();
const text = formatFleet(toFleetStatus({ tokens, clusters: [aCluster()], sets: [] }, now), now, (_, plain) => plain);
console.log(JSON.stringify({ tokens: tokens.length, milliseconds: round(performance.now() - startedAt), characters: text.length }));
