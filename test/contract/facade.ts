// A façade in front of the server under test, which is both its hub and its only target.

import { Agent } from 'node:https';
import { afterAll, beforeAll } from '@jest/globals';
import { createFacade, type Facade } from '../../src/facade/facade.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { createFixedConfig } from '../../src/kube/kube-config.ts';
import { createTransport, type Transport } from '../../src/kube/transport.ts';
import { systemClock } from '../../src/std/clock.ts';
import { createAuthority, issueServerCertificate, LOOPBACK_NAMES } from '../../src/std/x509/certificates.ts';
import { ClusterClients } from '../../src/targets/cluster-clients.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { type ApiRequest, type ApiResponse, sendRequest } from '../support/api-request.ts';
import { aCredential, base64, registered, settings } from '../targets/registration.ts';
import type { ContractServer } from './server.ts';
import { allowAlice, CLUSTER } from './token-world.ts';

export interface ContractFacade {
  readonly url: string;
  /** CA certificate of the façade, as PEM. */
  readonly ca: string;
  readonly request: (method: string, path: string, request?: ApiRequest) => Promise<ApiResponse>;
}

/** Starts a façade for the tests of one file. Alice may issue tokens for service accounts in team-a. */
export function contractFacade(server: ContractServer): ContractFacade {
  const authority = createAuthority(Date.now());
  const agent = new Agent({ ca: authority.certificate, keepAlive: true });
  const clients = new ClusterClients(settings(systemClock));
  let facade: Facade | undefined;
  let transport: Transport | undefined;
  let url = '';
  beforeAll(async () => {
    await allowAlice(server);
    const cluster = { name: 'hub', server: server.url, skipTLSVerify: false, caData: base64(server.ca) };
    transport = createTransport(createFixedConfig(cluster, { name: 'purser', token: server.tokens.admin }), { clock: systemClock });
    const credential = aCredential({ token: server.tokens.admin, server: server.url, 'ca.crt': server.ca, cluster: CLUSTER });
    const target = registered({ name: CLUSTER, servers: [server.url], ca: server.ca, credential });
    const { certificate: cert, key } = issueServerCertificate(authority, LOOPBACK_NAMES, Date.now());
    facade = createFacade({
      hub: new KubeClient(transport, 'purser'),
      clients,
      findRegistration: (name) => (name === CLUSTER ? target : undefined),
      certificate: async () => ({ cert, key }),
      clock: systemClock,
      log: createLogger({ level: 'silent', readable: false, write: () => {} }),
      settings: { facadePort: 0, bindAddress: '127.0.0.1', protectedNamespaces: [] },
    });
    url = await facade.listen();
  }, 60_000);
  afterAll(async () => {
    agent.destroy();
    await facade?.close(1_000);
    await clients.close();
    await transport?.close();
  });
  return {
    get url() {
      return url;
    },
    ca: authority.certificate,
    request: (method, path, request) => sendRequest({ url, agent }, method, path, request),
  };
}
