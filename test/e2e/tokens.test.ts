import { Agent } from 'node:https';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../contract/eventually.ts';
import { sendRequest } from '../support/api-request.ts';
import { newFolder } from '../support/folders.ts';
import { loadKubeConfigText } from '../support/kubeconfig-file.ts';
import { type LocalRun, type Ready, send, startLocalRun } from './local-run.ts';

const TOKENS = '/apis/tokens.purser.dev/v1alpha1/managedtokens';

interface Listed {
  readonly items: readonly {
    readonly metadata: { readonly name: string; readonly resourceVersion: string };
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  }[];
}

const json = async <T>(response: ReturnType<typeof send>) => JSON.parse((await response).body) as T;

/** Returns the names of the sample ManagedTokens that are Ready. */
async function readyNames(ready: Ready): Promise<readonly string[]> {
  const { items } = await json<Listed>(send(ready, 'admin', `GET ${TOKENS}`));
  const isReady = ({ status }: Listed['items'][number]) =>
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True');
  return items.filter(isReady).map(({ metadata }) => metadata.name);
}

async function versions(ready: Ready): Promise<readonly string[]> {
  const owned = '/api/v1/secrets?labelSelector=tokens.purser.dev%2Fmanaged-by%3Dpurser';
  const lists = await Promise.all([TOKENS, owned].map((path) => json<Listed>(send(ready, 'admin', `GET ${path}`))));
  return lists.flatMap(({ items }) => items.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`));
}

describe('npm start with sample ManagedTokens', () => {
  let folder: string;
  let first: LocalRun;
  beforeAll(async () => {
    folder = await newFolder();
    first = await startLocalRun(folder);
  });
  afterAll(() => first.end('SIGKILL'));

  it('writes a kubeconfig that a client can use unchanged', async () => {
    const { ready } = first;
    const path = 'GET /api/v1/namespaces/team-b/secrets/target-1-kubeconfig';
    await eventually(async () => expect((await send(ready, 'admin', path)).status).toBe(200));
    const { data } = await json<{ data: Record<string, string> }>(send(ready, 'admin', path));
    const config = await loadKubeConfigText(Buffer.from(data['value'] ?? '', 'base64').toString());
    const cluster = config.getCurrentCluster();
    const agent = new Agent({ ca: Buffer.from(cluster?.caData ?? '', 'base64') });
    const headers = { authorization: `Bearer ${config.getCurrentUser()?.token}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });
    const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
    const response = await sendRequest({ url: cluster?.server ?? '', agent }, 'POST', reviews, { headers, body });
    agent.destroy();

    expect(JSON.parse(response.body)).toMatchObject({ status: { userInfo: { username: 'system:serviceaccount:deploy:deployer' } } });
  });

  it('issues a token for every sample, and keeps all tokens across a restart', async () => {
    const samples = ['argo-cd-target-1', 'ci-deployer', 'flux-target-1', 'contractor'];
    await eventually(async () => expect(await readyNames(first.ready)).toEqual(samples));
    const before = await versions(first.ready);
    const { code, stderr } = await first.end('SIGINT');
    expect(code).toBe(0);
    // Audit lines are logged at every level.
    expect(stderr).not.toMatch(/"level":"(error|fatal)"/);

    const second = await startLocalRun(folder);
    try {
      const lease = '/apis/coordination.k8s.io/v1/namespaces/purser-system/leases/purser';
      const holder = async () => (await json<{ spec: { leaseTransitions: number } }>(send(second.ready, 'admin', `GET ${lease}`))).spec;
      await eventually(async () => expect((await holder()).leaseTransitions).toBeGreaterThan(0));
      expect(await versions(second.ready)).toEqual(before);
    } finally {
      await second.end('SIGKILL');
    }
  });
});
