// Probes clusters concurrently, as a separate process that tests restrict: `node probe-process.ts`. Receives the URLs from the
// parent process, and responds with the failure reason for each cluster.

import { probe } from '../../src/clusters/probe.ts';
import { type Clock, systemClock } from '../../src/std/clock.ts';
import { createTarget } from '../../src/targets/create-target.ts';
import { registered, settings } from '../targets/registration.ts';

interface Clusters {
  readonly urls: readonly string[];
  readonly ca: string;
}

process.once('message', (clusters: Clusters) => void report(clusters));
process.on('disconnect', () => process.exit());

/** Slow clock, so that no request times out on a busy machine. */
const clock: Clock = {
  ...systemClock,
  monotonic: () => systemClock.monotonic() / 100,
  wakeAfter: (ms, wake) => systemClock.wakeAfter(ms * 100, wake),
};

async function report({ urls, ca }: Clusters): Promise<void> {
  const { signal } = new AbortController();
  const targets = urls.map((url) => createTarget(registered({ servers: [url], ca }), settings(clock)));
  const scope = { clock, isRetried: true, includesAccess: false, includesAudiences: false, namespaces: () => [] };
  const results = await Promise.all(targets.map((target) => probe(target, scope, signal)));
  process.send?.(results.map(({ fault }) => fault?.reason ?? 'none'));
}
