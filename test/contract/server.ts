// The server under test: the embedded one in project `unit`, a real kube-apiserver in project `kube`.

import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from '@jest/globals';
import { type ApiRequest, type ApiResponse, sendRequest } from '../support/api-request.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { TEST_USERS } from '../support/users.ts';

declare const testServer: 'embedded' | 'real';

/** Server under test. */
export interface ContractServer {
  readonly url: string;
  /** CA certificate of the server, as PEM. */
  readonly ca: string;
  readonly tokens: { readonly admin: string; readonly alice: string; readonly bob: string };
  /** Sends a request unchanged. */
  readonly request: (method: string, path: string, request?: ApiRequest) => Promise<ApiResponse>;
  /** Restarts the server without history: earlier revisions can be neither listed nor watched. */
  readonly forget: () => Promise<void>;
}

export interface ContractServerOptions {
  /** Issuer of service account tokens. */
  readonly issuer?: string;
  /** True if a real server needs kube-controller-manager; the embedded server runs these controllers itself. */
  readonly controllers?: boolean;
}

/** Starts a server before the first test of a file, and stops it after the last one. */
export function contractServer(options: ContractServerOptions = {}): ContractServer {
  let started: Started | undefined;
  beforeAll(async () => {
    const issuer = options.issuer ?? 'https://hub.test';
    started = await (testServer === 'real' ? startReal({ ...options, issuer }) : startEmbedded(issuer));
  }, START_MS);
  afterAll(async () => {
    started?.agent.destroy();
    await started?.stop();
  }, START_MS);
  return {
    get url() {
      return requireStarted(started).url;
    },
    get ca() {
      return requireStarted(started).ca;
    },
    tokens: { admin: 'admintoken', alice: 'alicetoken', bob: 'bobtoken' },
    request: (method, path, request) => sendRequest(requireStarted(started), method, path, request),
    forget: () => requireStarted(started).forget(),
  };
}

interface Started {
  readonly url: string;
  readonly ca: string;
  readonly agent: Agent;
  readonly forget: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

const START_MS = 120_000;

function requireStarted(server: Started | undefined): Started {
  if (server === undefined) throw new Error('The server starts in beforeAll.');
  return server;
}

async function startReal(options: ContractServerOptions): Promise<Started> {
  const { url, ca, compact, restart, stop } = await startRealCluster(options);
  const forget = async () => {
    await compact();
    // kube-apiserver has its own watch cache, which only a restart clears.
    await restart('kill');
  };
  return { url, ca, agent: new Agent({ ca, keepAlive: true }), forget, stop };
}

async function startEmbedded(issuer: string): Promise<Started> {
  // A static import would also fail the tests of the real server if the embedded server cannot be loaded.
  const { startApiServer } = await import('../../apiserver/server.ts');
  const folder = await mkdtemp(join(tmpdir(), 'purser-embedded-'));
  const faults: unknown[] = [];
  const start = (port: number) => startApiServer({ folder, port, issuer, tokens: TEST_USERS, report: (error) => faults.push(error) });
  let server = await start(0);
  const forget = async () => {
    await server.close();
    server = await start(server.port);
  };
  const stop = async () => {
    await server.close();
    await rm(folder, { recursive: true, force: true });
    if (faults.length > 0) throw new AggregateError(faults, `the embedded server reported ${faults.length} unexpected errors`);
  };
  return { url: server.url, ca: server.ca, agent: new Agent({ ca: server.ca, keepAlive: true }), forget, stop };
}
