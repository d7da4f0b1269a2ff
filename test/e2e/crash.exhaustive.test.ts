import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sendRequest } from '../support/api-request.ts';

const ADMIN = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const WRITERS = 8;
/** Number of acknowledged writes before the server is killed. */
const WRITES_BEFORE_KILL = 60;

interface Running {
  readonly child: ChildProcess;
  readonly target: { readonly url: string; readonly agent: Agent };
}

async function start(folder: string): Promise<Running> {
  const child = fork(join(import.meta.dirname, '../support/api-server-process.ts'), [folder], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const failed = once(child, 'exit').then(([code]) => Promise.reject(new Error(`the server exited with ${code} before it listened`)));
  const [{ url, ca }] = (await Promise.race([once(child, 'message'), failed])) as [{ url: string; ca: string }];
  return { child, target: { url, agent: new Agent({ ca, keepAlive: true }) } };
}

describe('embedded API server killed under write load', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'purser-crash-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('keeps every acknowledged write, and resumes watches or ends them with 410', async () => {
    const acknowledged = new Map<string, string>();
    let lastSeen = '';
    for (let round = 0; round < 10; round++) {
      const { child, target } = await start(join(folder, 'hub'));
      await expectAll(target, acknowledged);
      if (lastSeen !== '') await expectResumedOrExpired(target, lastSeen);
      lastSeen = await writeUntilKilled({ child, target }, acknowledged, round);
      target.agent.destroy();
    }
    // Each name has two writes, a create and an update.
    expect(acknowledged.size).toBeGreaterThanOrEqual((10 * WRITES_BEFORE_KILL) / 2);
    const { child, target } = await start(join(folder, 'hub'));
    await expectAll(target, acknowledged);
    target.agent.destroy();
    child.kill();
  });
});

/** Creates and updates objects with eight writers until the server is killed; returns the last acknowledged resourceVersion. */
async function writeUntilKilled({ child, target }: Running, acknowledged: Map<string, string>, round: number): Promise<string> {
  const exited = once(child, 'exit');
  let count = 0;
  let last = '';
  const writer = async (id: number) => {
    for (let n = 0; ; n++) {
      const name = `r${round}-w${id}-${n >> 1}`;
      const isUpdate = n % 2 === 1;
      const body = JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { n: String(n) } });
      const path = isUpdate ? `${CONFIG_MAPS}/${name}` : CONFIG_MAPS;
      const response = await sendRequest(target, isUpdate ? 'PUT' : 'POST', path, { headers: ADMIN, body }).catch(() => undefined);
      if (response === undefined) return;
      expect(response.status).toBeLessThan(300);
      acknowledged.set(name, String(n));
      last = (JSON.parse(response.body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
      if (++count === WRITES_BEFORE_KILL) child.kill('SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, (_, id) => writer(id)));
  await exited;
  return last;
}

async function expectAll(target: Running['target'], acknowledged: ReadonlyMap<string, string>): Promise<void> {
  const { body } = await sendRequest(target, 'GET', CONFIG_MAPS, { headers: ADMIN });
  const { items } = JSON.parse(body) as { items: { metadata: { name: string }; data?: { n: string } }[] };
  const stored = new Map(items.map(({ metadata, data }) => [metadata.name, Number(data?.n)]));
  // A write in flight may be stored; an acknowledged write must be.
  const lost = [...acknowledged].filter(([name, n]) => !((stored.get(name) ?? -1) >= Number(n)));
  expect(lost).toEqual([]);
}

async function expectResumedOrExpired(target: Running['target'], resourceVersion: string): Promise<void> {
  const { status, body } = await sendRequest(target, 'GET', `${CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion=${resourceVersion}`, {
    headers: ADMIN,
  });
  expect(status).toBe(200);
  const events = body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { type: string; object: { code?: number } });
  const [first] = events;
  if (first?.type === 'ERROR') expect(first.object.code).toBe(410);
  else for (const { type } of events) expect(['ADDED', 'MODIFIED']).toContain(type);
}
