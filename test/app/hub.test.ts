// The custom resources of Purser on a hub that lacks them, as each part of it meets that.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type ApiServer, startApiServer } from '../../src/apiserver/server.ts';
import { installed } from '../../src/app/hub.ts';
import type { AppOptions, AppSettings } from '../../src/app/options.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { fixed } from '../../src/kube/kube-config.ts';
import { createTransport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { eventually } from '../kube/eventually.ts';
import { newFolder } from '../support/folders.ts';
import { TEST_USERS } from '../support/users.ts';

let server: ApiServer;
let hub: KubeClient;
let lines: string[];

beforeEach(async () => {
  const options = { port: 0, issuer: 'https://hub.test', tokens: TEST_USERS, report: (error: unknown) => expect(error).toBeUndefined() };
  server = await startApiServer({ folder: await newFolder(), ...options });
  const cluster = { name: 'hub', server: server.url, skipTLSVerify: false, caData: Buffer.from(server.ca).toString('base64') };
  hub = new KubeClient(createTransport(fixed(cluster, { name: 'admin', token: 'admintoken' }), { clock: systemClock }), 'tests');
  lines = [];
});

afterEach(async () => {
  await hub.transport.close();
  await server.close();
});

function started(components: AppSettings['components'], signal: AbortSignal): Promise<void> {
  const settings = { installCrds: true, components } as AppSettings;
  const log = createLogger({ level: 'info', readable: false, write: (line) => void lines.push(line) });
  const options: AppOptions = { hub: undefined as never, clock: systemClock, random: () => 0.5, log, settings };
  return installed(options, hub).start(signal);
}

describe('with --install-crds', () => {
  it('the controller installs the custom resources, and the façade waits for them without a try of its own', async () => {
    const facade = started(['facade'], new AbortController().signal);
    await eventually(() => expect(lines.join()).toContain('the hub lacks custom resources of Purser'));
    expect(lines.join()).not.toContain('installed');

    await started(['controller'], new AbortController().signal);
    expect(lines.join()).toContain('the custom resources of Purser are installed');
    await facade;
  });
});
