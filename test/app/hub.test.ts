import { expect, it } from '@jest/globals';
import type { ApiObject } from '../../src/api/resources.ts';
import { createCaches, type HubInformers } from '../../src/app/hub.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { HandInformer } from '../runtime/hand-informer.ts';
import { FakeClock } from '../support/clock.ts';

it('logs unsynced informers every ten seconds', async () => {
  const clock = new FakeClock();
  const informer = () => Object.assign(new HandInformer<ApiObject>(), { problems$: [] });
  const [clusters, roles, bindings, credentials] = [informer(), informer(), informer(), informer()];
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', readable: false, write: (line) => lines.push(line) });
  const informers = { clusters, roles, bindings, credentials: [credentials] } as unknown as HubInformers;
  const part = createCaches(informers, { transport: {} } as KubeClient, { log, clock });
  const started = part.start(new AbortController().signal);
  roles.list();
  clusters.list();
  clock.advance(10_000);
  bindings.list();
  clock.advance(10_000);
  credentials.list();
  await started;
  clock.advance(60_000);
  const waiting = lines.map((line) => (JSON.parse(line) as { readonly unsynced: readonly string[] }).unsynced);
  expect(waiting).toEqual([['bindings', 'credentials'], ['credentials']]);
  expect(clock.pending).toBe(0);
});
