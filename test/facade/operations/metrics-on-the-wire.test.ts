// The metrics port on the wire, with a hub.

import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Authenticator } from '../../../src/facade/authenticate.ts';
import { listenForOperations, type Operations } from '../../../src/facade/operations/listener.ts';
import { createMetricsAccessCheck } from '../../../src/facade/operations/metrics-access.ts';
import { KubeClient } from '../../../src/kube/client.ts';
import { createFixedConfig } from '../../../src/kube/kube-config.ts';
import { createTransport, type Transport } from '../../../src/kube/transport.ts';
import { systemClock as clock } from '../../../src/std/clock.ts';
import { silentLog as log } from '../../support/silent-log.ts';
import { startWireServer, type WireServer } from '../../support/wire-server.ts';
import { ALLOWED, allowingHub, DENIED } from '../facade-world.ts';

let hubServer: WireServer;
let transport: Transport;
let running: Operations;

beforeEach(async () => {
  hubServer = await startWireServer(allowingHub());
  const cluster = { name: 'hub', server: hubServer.url, skipTLSVerify: false };
  transport = createTransport(createFixedConfig(cluster, { name: 'purser', token: 'hub-credential' }), { clock });
  const hub = new KubeClient(transport, 'purser');
  const authenticator = new Authenticator({ hub, clock, log, audiences: [] });
  const ping = { name: 'ping', passes: () => true };
  running = await listenForOperations({
    host: '127.0.0.1',
    port: 0,
    health: { livez: [ping], readyz: [ping] },
    metrics: {
      async *text() {
        yield 'purser_secret_count 1\n';
      },
    },
    admit: createMetricsAccessCheck({ authenticator, hub, clock, log }),
    clock,
    log,
  });
});

afterEach(async () => {
  await running.close();
  await transport.close();
  await hubServer.close();
});

/** Returns all bytes of the response until the connection is closed. */
function responseTo(...lines: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
  socket.write(['GET /metrics HTTP/1.1', 'Host: localhost', 'Connection: close', ...lines, '', ''].join('\r\n'));
  return text(socket);
}

describe('metrics on the wire', () => {
  it.each([
    ['no token', [], 401],
    ['an unknown token', ['Authorization: Bearer unknown'], 401],
    ['identity headers without a token', ['X-Remote-User: alice', 'X-Forwarded-User: alice', 'Impersonate-User: alice'], 401],
    ['a token without permission', [`Authorization: Bearer ${DENIED}`], 403],
    ['a token without permission and an identity header', [`Authorization: Bearer ${DENIED}`, 'X-Remote-User: alice'], 400],
  ])('rejects a request for metrics with %s', async (_what, lines, code) => {
    const response = await responseTo(...lines);
    expect(response).toMatch(new RegExp(`^HTTP/1\\.1 ${code} `));
    expect(response).not.toContain('purser_secret_count');
  });

  it('returns metrics to a user who may get /metrics on the hub', async () => {
    expect(await responseTo(`Authorization: Bearer ${ALLOWED}`)).toMatch(/^HTTP\/1\.1 200 .*purser_secret_count 1/s);
    expect(JSON.parse(hubServer.requests.at(-1)?.body ?? '')).toMatchObject({
      spec: { user: 'alice', nonResourceAttributes: { verb: 'get', path: '/metrics' } },
    });
  });
});
