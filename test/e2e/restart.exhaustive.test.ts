import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { newFolder } from '../support/folders.ts';
import { type LocalRun, send, startLocalRun } from './local-run.ts';

const CLUSTER = '/apis/registry.purser.dev/v1alpha1/clusters/target-1';
const TOKENS = '/apis/tokens.purser.dev/v1alpha1/managedtokens';
const CREDENTIAL = '/api/v1/namespaces/purser-system/secrets/target-1-credential';

const json = async (response: ReturnType<typeof send>) => JSON.parse((await response).body);

describe('npm start in the folder of an earlier run', () => {
  let folder: string;

  /** Changes objects, and returns them with the addresses of the run. */
  async function changeObjects({ ready }: LocalRun) {
    const configMap = { metadata: { name: 'mine' }, data: { key: 'value' } };
    const created = await send(ready, 'admin', 'POST /api/v1/namespaces/default/configmaps', configMap);
    const token = '/apis/tokens.purser.dev/v1alpha1/namespaces/team-b/managedtokens/flux-target-1';
    const deleted = await send(ready, 'admin', `DELETE ${token}`);
    return { ready, statuses: [created.status, deleted.status], cluster: await json(send(ready, 'admin', `GET ${CLUSTER}`)) };
  }

  async function readObjects({ ready }: LocalRun) {
    return {
      ready,
      configMap: await json(send(ready, 'admin', 'GET /api/v1/namespaces/default/configmaps/mine')),
      cluster: await json(send(ready, 'admin', `GET ${CLUSTER}`)),
      credential: await json(send(ready, 'admin', `GET ${CREDENTIAL}`)),
      tokens: (await json(send(ready, 'admin', `GET ${TOKENS}`))).items,
    };
  }

  /** Starts a run, uses it, and ends it with a signal. */
  async function runOnce<T>(signal: NodeJS.Signals, use: (run: LocalRun) => Promise<T>) {
    const run = await startLocalRun(folder);
    const used = await use(run).catch(async (error: unknown) => {
      await run.end('SIGKILL');
      throw error;
    });
    const exit = await run.end(signal);
    return { ...used, exit, hasReadyFile: existsSync(join(folder, 'ready.json')) };
  }

  let killed: Awaited<ReturnType<typeof runOnce<Awaited<ReturnType<typeof changeObjects>>>>>;
  let interrupted: Awaited<ReturnType<typeof runOnce<Awaited<ReturnType<typeof readObjects>>>>>;
  let terminated: typeof interrupted;
  beforeAll(async () => {
    folder = await newFolder();
    killed = await runOnce('SIGKILL', changeObjects);
    interrupted = await runOnce('SIGINT', readObjects);
    const other = createServer().listen(targetPort(interrupted), '127.0.0.1');
    await once(other, 'listening');
    terminated = await runOnce('SIGTERM', readObjects).finally(() => other.close());
  });

  const targetPort = ({ ready }: Pick<LocalRun, 'ready'>) => Number(new URL(ready.clusters['target-1']?.api ?? '').port);

  it('resumes from the state of the last run', () => {
    expect(killed.statuses).toEqual([201, 200]);
    expect(interrupted.ready.tokens).toEqual(killed.ready.tokens);
    expect(interrupted.ready.clusters).toEqual(killed.ready.clusters);
    expect(interrupted.configMap.data).toEqual({ key: 'value' });
    expect(interrupted.cluster).toEqual(killed.cluster);
    expect(interrupted.tokens).toHaveLength(3);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('exits with 0 on %s, and removes its ready file', (signal) => {
    const { ready, exit, hasReadyFile } = signal === 'SIGINT' ? interrupted : terminated;

    expect(exit.code).toBe(0);
    // On a busy machine, the deadline for requests in progress may pass, which is a warning.
    expect(exit.stderr).not.toMatch(/"level":"(error|fatal)"/);
    expect(hasReadyFile).toBe(false);
    expect(Object.values(ready.tokens).some((token) => exit.stdout.includes(token))).toBe(false);
  });

  it('chooses another port for a target whose port is in use, and updates its Cluster', () => {
    const { ready, cluster, credential } = terminated;
    const address = ready.clusters['target-1']?.api ?? '';

    expect(targetPort(terminated)).not.toBe(targetPort(interrupted));
    expect(cluster.spec.orchestratorApiEndpoints.serverEndpoints).toEqual([{ clientCIDR: '0.0.0.0/0', serverAddress: address }]);
    expect(Buffer.from(credential.data.server, 'base64').toString()).toBe(address);
  });
});
