import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { Agent } from 'node:https';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadKubeConfig } from '../../src/kube/kube-config.ts';
import { eventually } from '../contract/eventually.ts';
import { sendRequest } from '../support/api-request.ts';
import { labelsKey, parseExposition } from '../support/exposition.ts';
import { newFolder } from '../support/folders.ts';
import { type LocalRun, runToExit, send, startLocalRun, startOnCluster } from './local-run.ts';

const CLUSTER = '/apis/registry.purser.dev/v1alpha1/clusters/target-1';
const TOKENS = '/apis/tokens.purser.dev/v1alpha1/managedtokens';
const CREDENTIAL = '/api/v1/namespaces/purser-system/secrets/target-1-credential';

/** Local run that tests share if they do not change it. */
let shared: LocalRun;
let sharedFolder: string;
beforeAll(async () => {
  sharedFolder = await newFolder();
  // A local run ignores KUBECONFIG.
  process.env['KUBECONFIG'] = join(sharedFolder, 'missing');
  shared = await startLocalRun(sharedFolder, '--clusters', '2');
});
afterAll(() => shared.end('SIGKILL'));

const json = async (response: ReturnType<typeof send>) => JSON.parse((await response).body);

describe('npm start', () => {
  it('serves a hub and two targets, and writes their addresses to the ready file', async () => {
    const { ready } = shared;
    const cluster = (name: string, users: readonly string[]) => ({
      kubeconfig: join(sharedFolder, 'data', `${name}kubeconfig`),
      ca: join(sharedFolder, 'data', `${name}ca.crt`),
      api: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      tokens: Object.fromEntries(users.map((user) => [user, expect.stringMatching(/^[\w-]{43}$/)])),
    });
    expect(ready).toEqual({
      ...cluster('', ['admin', 'alice', 'bob']),
      facade: expect.stringMatching(/^https:\/\/127\.0\.0\.1:\d+$/),
      metrics: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      clusters: { 'target-1': cluster('target-1.', ['admin']), 'target-2': cluster('target-2.', ['admin']) },
    });
    expect((await stat(join(sharedFolder, 'ready.json'))).mode & 0o777).toBe(0o600);

    const kubeconfig = await loadKubeConfig(ready.kubeconfig);
    expect(kubeconfig.getCurrentCluster()?.server).toBe(ready.api);
    expect(kubeconfig.getCurrentUser()?.token).toBe(ready.tokens['admin']);

    expect((await send(ready, 'admin', 'GET /readyz')).status).toBe(200);
    expect((await send(ready, 'alice', `GET ${TOKENS}`)).status).toBe(403);
    expect((await json(send(ready, 'admin', `GET ${TOKENS}`))).items).toHaveLength(4);
  });

  it('registers the target with a credential that the target accepts', async () => {
    const { ready } = shared;
    const target = ready.clusters['target-1'];
    if (target === undefined) throw new Error('target-1 is not in the ready file');
    const { spec } = await json(send(ready, 'admin', `GET ${CLUSTER}`));
    expect(spec).toEqual({
      orchestratorApiEndpoints: {
        caBundle: (await readFile(target.ca)).toString('base64'),
        serverEndpoints: [{ clientCIDR: '0.0.0.0/0', serverAddress: target.api }],
      },
      authInfo: { controller: { kind: 'Secret', namespace: 'purser-system', name: 'target-1-credential' } },
    });

    const { data } = await json(send(ready, 'admin', `GET ${CREDENTIAL}`));
    expect(Buffer.from(data.server, 'base64').toString()).toBe(target.api);
    const purser = { ...target, tokens: { purser: Buffer.from(data.token, 'base64').toString() } };
    const path = '/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences: ['x'], expirationSeconds: 600 } };
    expect((await send(purser, 'purser', `POST ${path}`, request)).status).toBe(201);
    expect((await send(purser, 'purser', 'GET /api/v1/secrets')).status).toBe(403);
  });

  it('exits with 2 and prints one line if the API port is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { code, stdout, stderr } = await runToExit(['dev', '--data-dir', await newFolder(), '--api-port', String(port)]);
    other.close();

    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: expect.stringMatching(/^Starting Purser .+…\n\n$/),
      stderr: `purser: port ${port} is already in use. Choose another --api-port, or 0 for a free port\n`,
    });
  });

  it('exits with 2 and prints one line if the data folder is in use', async () => {
    const { ready } = shared;
    const { code, stderr } = await runToExit(['dev', '--data-dir', join(sharedFolder, 'data'), '--api-port', '0', '--clusters', '3']);

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^purser: .+ is in use by another process.*\n$/) });
    expect((await send(ready, 'admin', 'GET /readyz')).status).toBe(200);
    expect(existsSync(join(sharedFolder, 'data', 'target-3.kubeconfig'))).toBe(false);
  });

  it('warns about unknown variables, and exits with 2 without changing a data folder that belongs to another program', async () => {
    const folder = await newFolder();
    await writeFile(join(folder, 'thesis.txt'), 'years of work');
    const { code, stderr } = await runToExit(['dev', '--data-dir', folder], { PURSER_VERIFY_INTERVALL: '1h' });

    const [warning, ...error] = stderr.split(/^(?=purser: )/m);
    expect({ code, error }).toEqual({ code: 2, error: [expect.stringMatching(/^purser: .+ is not a data folder of Purser .+\n$/)] });
    expect(warning).toMatch(/^.*"variables":\["PURSER_VERIFY_INTERVALL \(PURSER_VERIFY_INTERVAL\?\)"\].*\n$/);
    expect(await readdir(folder)).toEqual(['thesis.txt']);
  });

  it('prints the version of Purser', async () => {
    const { code, stdout, stderr } = await runToExit(['--version']);
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: expect.stringMatching(/^purser \d+\.\d+\.\d+\n$/), stderr: '' });
  });
});

async function scrape({ metrics }: LocalRun['ready']) {
  return parseExposition(await (await fetch(`${metrics}/metrics`)).text());
}

describe('metrics and health of a local run', () => {
  it('reports the tokens and the readiness of the local run', async () => {
    const { ready } = shared;
    const readyz = await fetch(`${ready.metrics}/readyz?verbose`);
    const checks = ['ping', 'custom-resources', 'informer-sync', 'certificate', 'facade', 'shutdown'];
    expect(await readyz.text()).toBe(`${checks.map((check) => `[+]${check} ok\n`).join('')}readyz check passed\n`);
    const name = { namespace: 'team-a', name: 'ci-deployer', target_cluster: 'target-1' };
    for (;;) {
      const metrics = await scrape(ready);
      expect(metrics.get('purser_token_ready')?.samples.size).toBe(4);
      if (metrics.get('purser_token_ready')?.samples.get(labelsKey(name)) !== 1) continue;
      expect(metrics.get('purser_leader')?.samples.get('[]')).toBe(1);
      expect([...(metrics.get('purser_token_issuances_total')?.samples.keys() ?? [])]).toContain(
        labelsKey({ target_cluster: 'target-1', result: 'success', reason: 'SecretMissing' }),
      );
      break;
    }
  });

  it('counts responses and issued tokens of the façade', async () => {
    const { ready } = shared;
    const facade = { ...ready, api: ready.facade };
    const account = '/orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const token = { spec: { audiences: ['https://kubernetes.default.svc'] } };
    expect((await send(facade, 'admin', 'GET /auth/v1/clusters')).status).toBe(200);
    const tokens = await send(facade, 'admin', 'GET /auth/v1/managedtokens');
    expect([tokens.status, JSON.parse(tokens.body).items.length]).toEqual([200, 4]);
    expect((await send(facade, 'unknown', 'GET /auth/v1/clusters')).status).toBe(401);
    expect((await send(facade, 'unknown', 'GET /made/up')).status).toBe(401);
    expect((await send(facade, 'admin', `POST ${account}`, token)).status).toBe(201);
    expect((await send(facade, 'alice', `POST ${account}`, token)).status).toBe(403);
    // A response is counted when its last byte is sent, which may be after the client received it.
    let metrics = await scrape(ready);
    while ((metrics.get('purser_http_requests_total')?.samples.size ?? 0) < 6) metrics = await scrape(ready);

    const route = '/orchestrator/:cluster/api/v1/namespaces/:namespace/serviceaccounts/:name/token';
    expect(new Map(metrics.get('purser_http_requests_total')?.samples)).toEqual(
      new Map([
        [labelsKey({ route: '/auth/v1/clusters', code: '200' }), 1],
        [labelsKey({ route: '/auth/v1/clusters', code: '401' }), 1],
        [labelsKey({ route: '/auth/v1/managedtokens', code: '200' }), 1],
        [labelsKey({ route: '*', code: '401' }), 1],
        [labelsKey({ route, code: '201' }), 1],
        [labelsKey({ route, code: '403' }), 1],
      ]),
    );
    const issuances = metrics.get('purser_token_issuances_total')?.samples;
    expect(issuances?.get(labelsKey({ target_cluster: 'target-1', result: 'success', reason: 'Requested' }))).toBe(1);
    expect(issuances?.get(labelsKey({ target_cluster: 'target-1', result: 'failure', reason: 'Forbidden' }))).toBe(1);
  });

  it('exits with 2 and prints one line if the metrics port is in use', async () => {
    const { ready } = shared;
    const { port } = new URL(ready.metrics);
    // Other ports are free ones, because a local run of a user may use the default ports.
    const others = ['--api-port', '0', '--facade-port', '0'];
    const { code, stderr } = await runToExit(['dev', '--data-dir', join(await newFolder(), 'data'), '--metrics-port', port, ...others]);

    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `purser: port ${port} is already in use. Choose another --metrics-port, or 0 for a free port\n`,
    });
  });
});

// After the test that counts responses, because this test sends requests to the façade as well.
describe('npm start with a second target', () => {
  it('registers the second target without a stored credential', async () => {
    const { ready } = shared;
    const { data } = await json(send(ready, 'admin', `GET ${CREDENTIAL.replace('target-1', 'target-2')}`));
    expect(Object.keys(data).sort()).toEqual(['ca.crt', 'cluster', 'server', 'serviceAccount']);
    const issue = async () => {
      const agent = new Agent({ ca: await readFile(ready.ca) });
      const path = '/orchestrator/target-2/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
      const headers = { authorization: `Bearer ${ready.tokens['admin']}`, 'content-type': 'application/json' };
      const body = '{"spec":{"audiences":["https://kubernetes.default.svc"]}}';
      return await sendRequest({ url: ready.facade, agent }, 'POST', path, { headers, body }).finally(() => agent.destroy());
    };
    await eventually(async () => expect((await issue()).status).toBe(201));
    await eventually(async () => {
      const { status } = await json(send(ready, 'admin', `GET ${CLUSTER.replace('target-1', 'target-2')}`));
      const conditions = status.conditions.map((each: { type: string; status: string }) => `${each.type}=${each.status}`);
      expect(conditions).toEqual(['Ready=True', 'Reachable=True', 'Authorized=True', 'CredentialFresh=True']);
    });
  });
});

describe('npm start without samples and targets', () => {
  let folder: string;
  let run: LocalRun;
  beforeAll(async () => {
    folder = await newFolder();
    run = await startLocalRun(folder, '--no-samples', '--clusters', '0');
  });
  afterAll(() => run.end('SIGKILL'));

  it('starts a hub without samples and targets', async () => {
    const { ready } = run;
    expect(ready.clusters).toEqual({});
    expect((await json(send(ready, 'admin', `GET ${TOKENS}`))).items).toEqual([]);
    const { items } = await json(send(ready, 'admin', 'GET /api/v1/namespaces'));
    expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toContain('purser-system');
  });

  it('waits for the CRDs in purser run, then syncs the caches, and exits with 0 on SIGINT', async () => {
    const { ready } = run;
    const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const { items } = await json(send(ready, 'admin', `GET ${definitions}`));
    for (const { metadata } of items) await send(ready, 'admin', `DELETE ${definitions}/${metadata.name}`);

    const readyFile = join(folder, 'on-cluster.json');
    const purser = startOnCluster(ready.kubeconfig, '--ready-file', readyFile);
    await purser.waitForLog('kubectl apply -f crds');
    expect(existsSync(readyFile)).toBe(false);

    for (const { metadata, spec } of items) await send(ready, 'admin', `POST ${definitions}`, { metadata: { name: metadata.name }, spec });
    await purser.waitForLog('"clusters":0,"managedTokens":0');
    const { code, stdout } = await purser.end('SIGINT');

    expect({ code, stdout }).toEqual({ code: 0, stdout: '' });
  });
});

describe('purser run', () => {
  it('exits with 2 and prints one line if the kubeconfig cannot be read', async () => {
    const file = join(await newFolder(), 'missing');
    const { code, stderr } = await runToExit(['run'], { KUBECONFIG: file });

    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^purser: cannot use KUBECONFIG=.+: ENOENT.+\n$/) });
  });
});
