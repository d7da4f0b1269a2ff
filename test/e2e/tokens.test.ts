import { Agent } from 'node:https';
import { describe, expect, it, jest } from '@jest/globals';
import { parseKubeConfig } from '../../src/kube/kube-config.ts';
import { eventually } from '../contract/eventually.ts';
import { sendRequest } from '../support/api-request.ts';
import { newFolder } from '../support/folders.ts';
import { ask, type Ready, startLocalRun } from './local-run.ts';

/** Each test starts processes; a busy machine takes its time for them. */
jest.setTimeout(60_000);

const TOKENS = '/apis/tokens.purser.dev/v1alpha1/managedtokens';

interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

const json = async <T>(answer: ReturnType<typeof ask>) => JSON.parse((await answer).body) as T;

/** The names of the samples whose tokens are there. */
async function readyNames(ready: Ready): Promise<readonly string[]> {
  const { items } = await json<Listed>(ask(ready, 'admin', `GET ${TOKENS}`));
  const isReady = ({ status }: Listed['items'][number]) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  return items.filter(isReady).map(({ metadata }) => metadata.name);
}

async function versions(ready: Ready): Promise<readonly string[]> {
  const owned = '/api/v1/secrets?labelSelector=tokens.purser.dev%2Fmanaged-by%3Dpurser';
  const lists = await Promise.all([TOKENS, owned].map((path) => json<Listed>(ask(ready, 'admin', `GET ${path}`))));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
}

describe('npm start', () => {
  it('issues a token for every sample, and keeps the tokens over a restart', async () => {
    const folder = await newFolder();
    const first = await startLocalRun(folder);
    const samples = ['argo-cd-target-1', 'ci-deployer', 'flux-target-1', 'contractor'];
    await eventually(async () => expect(await readyNames(first.ready)).toEqual(samples));
    const before = await versions(first.ready);
    const { code, stderr } = await first.end('SIGINT');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });

    const second = await startLocalRun(folder);
    try {
      const lease = '/apis/coordination.k8s.io/v1/namespaces/purser-system/leases/purser';
      const holder = async () => (await json<{ spec: { leaseTransitions: number } }>(ask(second.ready, 'admin', `GET ${lease}`))).spec;
      await eventually(async () => expect((await holder()).leaseTransitions).toBeGreaterThan(0));
      expect(await versions(second.ready)).toEqual(before);
    } finally {
      await second.end('SIGKILL');
    }
  });

  it('writes a kubeconfig that works unchanged', async () => {
    const run = await startLocalRun(await newFolder());
    try {
      const path = 'GET /api/v1/namespaces/team-b/secrets/target-1-kubeconfig';
      await eventually(async () => expect((await ask(run.ready, 'admin', path)).status).toBe(200));
      const { data } = await json<{ data: Record<string, string> }>(ask(run.ready, 'admin', path));
      const config = parseKubeConfig(Buffer.from(data['value'] ?? '', 'base64').toString(), '/');
      const cluster = config.getCurrentCluster();
      const agent = new Agent({ ca: Buffer.from(cluster?.caData ?? '', 'base64') });
      const headers = { authorization: `Bearer ${config.getCurrentUser()?.token}`, 'content-type': 'application/json' };
      const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
      const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
      const answer = await sendRequest({ url: cluster?.server ?? '', agent }, 'POST', reviews, { headers, body });
      agent.destroy();

      expect(JSON.parse(answer.body)).toMatchObject({ status: { userInfo: { username: 'system:serviceaccount:deploy:deployer' } } });
    } finally {
      await run.end('SIGKILL');
    }
  });
});
