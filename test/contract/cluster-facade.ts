// A façade for cluster lists on the server under test.

import type { Agent } from 'node:https';
import { afterAll, beforeAll } from '@jest/globals';
import { Clusters } from '../../src/api/resources.ts';
import type { KubeClient } from '../../src/kube/client.ts';
import { waitUntilServed } from '../../src/kube/discovery.ts';
import { applyAll, readManifests } from '../../src/kube/manifests.ts';
import { systemClock as clock } from '../../src/std/clock.ts';
import { sendRequest } from '../support/api-request.ts';
import type { ContractServer } from './server.ts';
import { authority, type StartedFacade, startFacade } from './start-facade.ts';

/** Façade under test: a server like any other, with a client of its hub. */
export interface ClusterFacade extends Omit<ContractServer, 'forget'> {
  readonly hub: KubeClient;
  readonly agent: Agent;
}

export interface ClusterFacadeOptions {
  /** Installs the Cluster CRD on the hub before the façade starts; default: Purser's own CRDs. */
  readonly install?: (server: ContractServer) => Promise<void>;
  readonly historyCapacity?: number;
}

/** Starts a façade for the tests of one file, after its server and before the first test. */
export function clusterFacade(server: ContractServer, { install, historyCapacity }: ClusterFacadeOptions = {}): ClusterFacade {
  let started: StartedFacade | undefined;
  beforeAll(async () => {
    started = await startFacade(server, { install: (hub) => install?.(server) ?? installDefinitions(hub), historyCapacity });
  }, START_MS);
  afterAll(() => started?.stop(), START_MS);
  return {
    get url() {
      return requireStarted(started).url;
    },
    ca: authority.certificate,
    tokens: server.tokens,
    get hub() {
      return requireStarted(started).hub;
    },
    get agent() {
      return requireStarted(started).agent;
    },
    request: (method, path, request) => sendRequest(requireStarted(started), method, path, request),
  };
}

const START_MS = 120_000;

function requireStarted(facade: StartedFacade | undefined): StartedFacade {
  if (facade === undefined) throw new Error('The façade starts in beforeAll.');
  return facade;
}

async function installDefinitions(hub: KubeClient): Promise<void> {
  await applyAll(hub, await readManifests('crds'));
  await waitUntilServed(hub, [Clusters], { clock, random: Math.random, signal: AbortSignal.timeout(30_000) });
}
