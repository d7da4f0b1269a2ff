// Installs Purser with the commands of the README, and checks its pods: their work, their restrictions, failures, upgrades and removal.

import { globSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runSteps, type Shell } from '../docs/shell.ts';
import { waitUntil } from '../real/deploy-world.ts';
import { blocksIn, runBlock } from '../real/docs-world.ts';
import { newFolder } from '../support/folders.ts';
import { run } from '../support/run.ts';
import { HUB, TARGET } from './addresses.ts';
import { connectFrom } from './connections.ts';
import { memoryOf, mountOptions, PUSHED, processOf, statusOf, tagImage } from './container.ts';
import { BUSYBOX } from './images.ts';
import { startLoad } from './load.ts';
import { NODE_NAME } from './node.ts';
import {
  createToken,
  facadeUrl,
  kubectl,
  leader,
  leftovers,
  openShells,
  type Pod,
  podNamed,
  purserPods,
  request,
  runKubectl,
  waitUntilOldPodsAreGone,
  waitUntilStable,
  warnings,
} from './world.ts';

const [install, register, first] = blocksIn('install');
const [verify, wait] = blocksIn('pods');
const [monitoring] = blocksIn('monitoring');
const uninstall = blocksIn('hub').find(({ text }) => text.includes('delete -k deploy/base'));
const NEXT = PUSHED.replace(/[^:]+$/, 'next');
const inPurser = (...args: readonly string[]) => kubectl('-n', 'purser-system', ...args);
/** Objects with expected warnings: the node, about its version of control groups, and pods whose process a test stops. */
const troubled = [NODE_NAME];
let release: Shell;
let checkout: Shell;

beforeAll(async () => {
  ({ release, checkout } = await openShells());
});

/** Returns the name of the leader, whose pod may have warnings from now on. */
async function leaderInTrouble(): Promise<string> {
  await waitUntilStable();
  const name = await leader();
  troubled.push(name);
  return name;
}

describe('installation as in the README', () => {
  it('verifies the checksums of all files', async () => {
    expect(await runBlock(verify, release)).toEqual([]);
  });

  it('provides an image of at most 55 MB, and 170 MB unpacked', async () => {
    const [archive = ''] = globSync(join(release.folder, '*-image.tar'));
    const script = 'tar -x -f "$1" -C "$2" && for blob in "$2"/blobs/sha256/*; do gzip -dcf "$blob"; done | wc -c';
    const { output } = await run('sh', ['-c', script, 'sh', archive, await newFolder()]);
    expect([statSync(archive).size <= 55e6, Number(output) > 100e6, Number(output) <= 170e6]).toEqual([true, true, true]);
  });

  it('starts two ready replicas', async () => {
    expect(await runBlock(install, release)).toEqual([]);
    expect(await runBlock(wait, release)).toEqual([]);
    expect(await waitUntilStable()).toHaveLength(2);
  });

  it('registers the target', async () => {
    expect(await runBlock(register, release)).toEqual([]);
  });

  it('issues the first token', async () => {
    expect(await runBlock(first, release)).toEqual([]);
  });

  it('issues a token and lists clusters through the Service', async () => {
    const headers = { authorization: `Bearer ${await createToken('team-a', 'ci')}`, 'content-type': 'application/json' };
    const url = await facadeUrl();
    const body = JSON.stringify({ spec: { audiences: ['https://kubernetes.default.svc'] } });
    const path = '/orchestrator/target-1/api/v1/namespaces/deploy/serviceaccounts/deployer/token';
    const issued = await request(url, `POST ${path}`, { headers, body });
    const listed = await request(url, 'GET /auth/v1/clusters', { headers });
    expect([issued.status, listed.status]).toEqual([201, 200]);
    expect(JSON.parse(listed.body)).toMatchObject({ items: [{ metadata: { name: 'target-1' } }] });
  });

  it('obtains a ten-minute token with three commands through a port-forward', async () => {
    const commands = [
      'kubectl config use-context hub',
      'purser kubeconfig target-1 deploy/deployer --service-account team-a/ci --duration 10m --merge',
      'kubectl --context target-1 auth whoami -o jsonpath={.status.userInfo.username}',
    ];
    const ran = await runSteps(
      commands.map((command) => ({ command, shown: undefined })),
      checkout,
    );
    expect(ran.map(({ code, printed }) => [code, printed.trim().split('\n').at(-1)])).toEqual([
      [0, 'Switched to context "hub".'],
      [0, expect.stringContaining('To use the context, run: kubectl --context target-1 auth whoami')],
      [0, 'system:serviceaccount:deploy:deployer'],
    ]);
  });

  it('serves metrics of the process that are not zero', async () => {
    await kubectl('create', 'namespace', 'monitoring');
    await kubectl('-n', 'monitoring', 'create', 'serviceaccount', 'prometheus');
    expect(await runBlock(monitoring, release)).toEqual([]);
    const headers = { authorization: `Bearer ${await createToken('monitoring', 'prometheus')}` };
    const names = ['resident_memory_bytes', 'virtual_memory_bytes', 'heap_bytes', 'open_fds', 'max_fds', 'start_time_seconds'];
    const slices = ['get', 'endpointslices', '-l', 'kubernetes.io/service-name=purser-metrics', '-o'];
    const found = (await inPurser(...slices, 'jsonpath={.items[*].endpoints[*].addresses[0]}')).split(' ');
    expect(new Set(found)).toEqual(new Set((await purserPods()).map(({ status }) => status.podIP)));
    const port = await inPurser(...slices, 'jsonpath={.items[0].ports[0].port}');
    for (const address of found) {
      const scrape = async () => await request(`https://${address}:${port}`, 'GET /metrics', { headers });
      // Purser replaces its initial certificate within seconds.
      await waitUntil(async () => (await scrape().catch(() => ({ status: 0 }))).status === 200);
      const { body } = await scrape();
      const value = (name: string) => Number(new RegExp(`^process_${name} (.*)$`, 'm').exec(body)?.[1]);
      expect(names.filter((name) => !(value(name) > 0))).toEqual([]);
    }
  });
});

describe('pods', () => {
  it('runs pods without privileges on a read-only file system', async () => {
    for (const pod of await purserPods()) {
      const pid = await processOf(pod);
      const none = '0000000000000000';
      expect(statusOf(pid)).toMatchObject({
        Uid: '65532\t65532\t65532\t65532',
        Gid: '65532\t65532\t65532\t65532',
        NoNewPrivs: '1',
        Seccomp: '2',
        CapInh: none,
        CapPrm: none,
        CapEff: none,
        CapBnd: none,
        CapAmb: none,
      });
      expect(mountOptions(pid, '/')).toContain('ro');
      expect(mountOptions(pid, '/var/run/secrets/kubernetes.io/serviceaccount')).toContain('ro');
    }
  });

  it('needs less than half of the memory limit in each pod', async () => {
    for (const pod of await purserPods()) {
      const { peak, limit } = memoryOf(await processOf(pod));
      expect(limit).toBe(512 * 2 ** 20);
      expect(peak).toBeLessThan(limit / 2);
    }
  });
});

describe('NetworkPolicy', () => {
  /** Metadata services of AWS, Google and most others, of Alibaba, Azure and Oracle. */
  const METADATA = ['169.254.169.254', '100.100.100.200', '168.63.129.16', '192.0.0.192'];
  const servers: Server[] = [];
  let purser: Pod;
  /** Processes of pods without a policy, by namespace. */
  const clients: Record<string, number> = {};

  beforeAll(async () => {
    purser = (await waitUntilStable())[0] as Pod;
    for (const address of METADATA) await run('ip', ['address', 'add', `${address}/32`, 'dev', 'purser0']);
    for (const port of [53, 443, 8080]) servers.push(createServer().listen(port));
    for (const namespace of ['default', 'monitoring']) {
      await kubectl('-n', namespace, 'run', 'client', `--image=${BUSYBOX}`, '--image-pull-policy=Never');
      await kubectl('-n', namespace, 'wait', 'pod/client', '--for=condition=Ready', '--timeout=60s');
      clients[namespace] = await processOf(JSON.parse(await kubectl('-n', namespace, 'get', 'pod', 'client', '-o', 'json')) as Pod);
    }
  });

  afterAll(async () => {
    for (const server of servers) server.close();
    for (const namespace of Object.keys(clients)) await kubectl('-n', namespace, 'delete', 'pod', 'client', '--grace-period=1');
  });

  it.each([
    ['default', 7444, 'connected'],
    ['monitoring', 7444, 'connected'],
    ['default', 7445, 'dropped'],
    ['monitoring', 7445, 'connected'],
  ])('enforces the NetworkPolicy for a connection from a pod in the namespace %s to port %i: %s', async (namespace, port, result) => {
    expect(await connectFrom(clients[namespace] as number, purser.status.podIP, port)).toBe(result);
  });

  it.each([
    ["the hub's API server", HUB, 6443, 'connected'],
    ["the target's API server", TARGET, 6443, 'connected'],
    ['port 443 of any address', HUB, 443, 'connected'],
    ['DNS', HUB, 53, 'connected'],
    ['another port', HUB, 8080, 'dropped'],
    ...METADATA.map((address) => [`the metadata service ${address}`, address, 443, 'dropped'] as const),
  ])('enforces the NetworkPolicy for a connection from Purser to %s on %s:%i: %s', async (_, host, port, result) => {
    expect(await connectFrom(await processOf(purser), host, port)).toBe(result);
    // Without a policy, all addresses can be reached.
    expect(await connectFrom(clients['default'] as number, host, port)).toBe('connected');
  });

  it('does not let Purser connect to another port of a pod', async () => {
    const { podIP } = (JSON.parse(await kubectl('-n', 'default', 'get', 'pod', 'client', '-o', 'json')) as Pod).status;
    expect(await connectFrom(await processOf(purser), podIP, 8080)).toBe('dropped');
    expect(await connectFrom(clients['monitoring'] as number, podIP, 8080)).toBe('ECONNREFUSED');
  });
});

describe('leader', () => {
  const restartsOf = async (name: string) => (await podNamed(name)).status.containerStatuses[0]?.restartCount ?? 0;

  it('restarts the container of the leader after the leader is killed, and has two ready replicas and a leader again', async () => {
    const old = await leaderInTrouble();
    const before = await restartsOf(old);
    process.kill(await processOf(await podNamed(old)), 'SIGKILL');
    await waitUntil(async () => (await restartsOf(old)) > before);
    await waitUntilStable();
  });

  it('fails over to the other replica while the leader is frozen, and restarts the container of the frozen leader', async () => {
    const old = await leaderInTrouble();
    const before = await restartsOf(old);
    process.kill(await processOf(await podNamed(old)), 'SIGSTOP');
    await waitUntil(async () => ![old, ''].includes(await leader()));
    expect(await restartsOf(old)).toBe(before);
    await waitUntil(async () => (await restartsOf(old)) > before);
    await waitUntilStable();
  });

  /** Evicts a pod, as the drain of a node does. */
  const evict = async (name: string) => {
    const file = join(release.folder, 'eviction.json');
    const metadata = { name, namespace: 'purser-system' };
    await writeFile(file, JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata }));
    await kubectl('create', '--raw', `/api/v1/namespaces/purser-system/pods/${name}/eviction`, '-f', file);
  };

  it('replaces an evicted replica without a failed request before the other replica can be evicted', async () => {
    const pods = await waitUntilStable();
    const old = await leader();
    const other = pods.map(({ metadata }) => metadata.name).find((name) => name !== old) ?? '';
    const load = await startLoad();
    await evict(old);
    await expect(evict(other)).rejects.toThrow("violate the pod's disruption budget");
    await waitUntil(async () => (await runKubectl('--context', 'hub', '-n', 'purser-system', 'get', 'pod', old)).code !== 0);
    await waitUntilStable();
    expect((await load.stop()).failures).toEqual([]);
    expect(await leader()).not.toBe(old);
  });
});

describe('upgrade', () => {
  const rollOut = async (...args: readonly string[]) => {
    await inPurser(...args);
    await inPurser('rollout', 'status', 'deployment/purser', '--timeout=180s');
    await waitUntilOldPodsAreGone();
  };

  it('changes the image, and rolls the change back, under load without a failed request', async () => {
    await tagImage(PUSHED, NEXT);
    await waitUntilStable();
    const load = await startLoad();
    await rollOut('set', 'image', 'deployment/purser', `purser=${NEXT}`);
    await rollOut('rollout', 'undo', 'deployment/purser');
    const { responses, failures } = await load.stop();
    expect(failures).toEqual([]);
    expect(responses).toBeGreaterThan(500);
  });
});

describe('removal', () => {
  it('records no warning events during operation', async () => {
    expect(await warnings(...troubled)).toEqual([]);
  });

  it('leaves no objects behind after removal', async () => {
    expect(await runBlock(uninstall, checkout)).toEqual([]);
    expect(await leftovers()).toEqual([]);
  });
});
