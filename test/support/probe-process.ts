// Probes clusters all at once, as a process of its own that tests give little room: `node probe-process.ts`.
// Its parent tells where they are; it answers with what went wrong at each of them.

import { probe } from '../../src/clusters/probe.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createTarget } from '../../src/targets/create-target.ts';
import { registered, settings } from '../targets/registration.ts';

interface Clusters {
  readonly urls: readonly string[];
  readonly ca: string;
}

process.once('message', (clusters: Clusters) => void report(clusters));
process.on('disconnect', () => process.exit());

async function report({ urls, ca }: Clusters): Promise<void> {
  const { signal } = new AbortController();
  const targets = urls.map((url) => createTarget(registered({ servers: [url], ca }), settings(systemClock)));
  const results = await Promise.all(
    targets.map((target) => probe(target, { isRetried: true, includesAccess: false, namespaces: () => [] }, signal)),
  );
  process.send?.(results.map(({ fault }) => fault?.reason ?? 'none'));
}
