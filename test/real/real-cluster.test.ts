// Tests of the real clusters that other tests use: start, restart, pause and cleanup.

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../contract/eventually.ts';
import { type ApiResponse, sendRequest } from '../support/api-request.ts';
import { kubeBinaries, kubernetesVersion } from '../support/kube-binaries.ts';
import { type RealCluster, startRealCluster } from '../support/real-cluster.ts';
import { run } from '../support/run.ts';

const clusters: RealCluster[] = [];

beforeAll(async () => {
  const options = [{ audit: true, issuer: 'https://one.test' }, { controllers: true }];
  clusters.push(...(await Promise.all(options.map((option) => startRealCluster(option)))));
});

afterAll(async () => {
  await Promise.all(clusters.map((cluster) => cluster.stop()));
  expect(clusters.map(({ folder }) => existsSync(folder))).toEqual([false, false]);
});

describe('startRealCluster', () => {
  it('starts the pinned version of Kubernetes', async () => {
    const { body } = await send(0, 'GET', '/version');
    expect(JSON.parse(body)).toMatchObject({ gitVersion: kubernetesVersion() });
  });

  it('starts independent clusters', async () => {
    await createNamespace(0, 'only-here');
    expect((await send(1, 'GET', '/api/v1/namespaces/only-here')).status).toBe(404);
    expect(clusters[0]?.ca).not.toBe(clusters[1]?.ca);
  });

  it('sets the issuer of service account tokens', async () => {
    const { body } = await send(0, 'GET', '/.well-known/openid-configuration');
    expect(JSON.parse(body)).toMatchObject({ issuer: 'https://one.test' });
  });

  it('writes an audit log with the option audit', async () => {
    await send(0, 'GET', '/api/v1/namespaces/audited');
    await eventually(async () => expect(await readFile(clusters[0]?.auditLog ?? '', 'utf8')).toContain('/namespaces/audited'));
  });

  it('runs controllers with the option controllers', async () => {
    await createNamespace(1, 'short-lived');
    await eventually(async () => expect((await send(1, 'GET', '/api/v1/namespaces/short-lived/serviceaccounts/default')).status).toBe(200));
    await send(1, 'DELETE', '/api/v1/namespaces/short-lived');
    await eventually(async () => expect((await send(1, 'GET', '/api/v1/namespaces/short-lived')).status).toBe(404));
  });
});

describe('kubeconfig', () => {
  it.each([
    ['a static token', 'alice', [], ['team-a', 'system:authenticated']],
    ['a client certificate', 'carol', ['team-c', 'team-d'], ['team-c', 'team-d', 'system:authenticated']],
  ])('authenticates kubectl by %s', async (_, user, groups, expected) => {
    const kubeconfig = await clusters[0]?.kubeconfig(user, groups);
    const { output } = await run(kubeBinaries()?.kubectl ?? '', [`--kubeconfig=${kubeconfig}`, 'auth', 'whoami', '-o', 'json']);
    expect(JSON.parse(output)).toMatchObject({ status: { userInfo: { username: user, groups: expected } } });
  });
});

describe('RealCluster', () => {
  it.each(['stop', 'kill'] as const)('keeps the data and the address of a cluster after a restart by %s', async (method) => {
    await createNamespace(0, `before-${method}`);
    await clusters[0]?.restart(method);
    expect((await send(0, 'GET', `/api/v1/namespaces/before-${method}`)).status).toBe(200);
  });

  it('sends no response while the cluster is paused', async () => {
    clusters[0]?.pause();
    let hasResponded = false;
    const pending = send(0, 'GET', '/readyz').then((response) => {
      hasResponded = true;
      return response;
    });
    // Responses of the other cluster prove that enough time has passed.
    for (let count = 0; count < 20; count++) await send(1, 'GET', '/readyz');
    expect(hasResponded).toBe(false);
    clusters[0]?.resume();
    expect((await pending).status).toBe(200);
  });
});

function send(index: number, method: string, path: string, body?: string): Promise<ApiResponse> {
  const { url, ca } = clusters[index] as RealCluster;
  const headers = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };
  return sendRequest({ url, agent: new Agent({ ca }) }, method, path, { headers, ...(body && { body }) });
}

async function createNamespace(index: number, name: string): Promise<void> {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  expect((await send(index, 'POST', '/api/v1/namespaces', JSON.stringify(namespace))).status).toBe(201);
}
