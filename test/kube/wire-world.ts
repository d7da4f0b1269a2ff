// A client with a scripted server.

import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport, type TransportOptions } from '../../src/kube/transport.ts';
import type { FakeClock } from '../support/clock.ts';
import { startWireServer, type WireHandler, type WireServer } from '../support/wire-server.ts';

export interface WireWorld {
  readonly server: WireServer;
  readonly client: KubeClient;
  close(): Promise<void>;
}

/** Starts a server with `handler` and a client that uses `clock`. */
export async function startWireWorld(
  handler: WireHandler,
  clock: FakeClock,
  options: Pick<TransportOptions, 'maxBytes'> = {},
): Promise<WireWorld> {
  const server = await startWireServer(handler);
  const config = createFixedConfig({ name: 'wire', server: server.url, skipTLSVerify: false }, { name: 'us', token: 'opaque-secret' });
  const transport = createTransport(config, { clock, ...options });
  const close = async () => {
    await transport.close();
    await server.close();
  };
  return { server, client: new KubeClient(transport, 'tests'), close };
}
