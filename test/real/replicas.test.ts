// Replicas of the Deployment on a real hub: killed, frozen, stopped, and without the hub.

import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { parseExposition } from '../support/exposition.ts';
import type { Program } from '../support/processes.ts';
import { AuditLog } from './audit-log.ts';
import { type Deployment, DeployWorld, eventually, isDeployment, kustomized } from './deploy-world.ts';

jest.setTimeout(180_000);

interface Replica {
  readonly name: string;
  readonly program: Program;
}

const TOKEN = ['-n', 'team-a', 'mt/ci-deployer'];
const LEADS = 'acquired leadership';
let world: DeployWorld;
let deployment: Deployment;
let scraper: string;
let started = 0;

beforeAll(async () => {
  world = await DeployWorld.start('base');
  deployment = (await kustomized('base')).find(isDeployment) as Deployment;
  await world.kubectl('create', 'serviceaccount', 'prometheus', '-n', 'default');
  const subject = '--serviceaccount=default:prometheus';
  await world.kubectl('create', 'clusterrolebinding', 'scrape', '--clusterrole=purser-metrics-reader', subject);
  scraper = await world.tokenOf('default', 'prometheus');
  await world.register('target-1');
  await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
});

afterAll(() => world?.stop());

async function start(): Promise<Replica> {
  const name = `purser-${started++}`;
  const program = await world.startDeployed({ ...deployment, metadata: { ...deployment.metadata, name } });
  const replica = { name, program };
  await eventually(async () => (await status(replica, 'metrics', 'GET /readyz')) === 200);
  return replica;
}

/** Starts two replicas, the first of which leads. */
async function startPair(): Promise<readonly [Replica, Replica]> {
  const leader = await start();
  await eventually(async () => await leads(leader));
  return [leader, await start()];
}

const answer = (replica: Replica, part: 'facade' | 'metrics', line: string, token = scraper) =>
  world.ask([replica.name, part], line, { headers: { authorization: `Bearer ${token}` } });

/** Returns the status code, or 0 if the replica does not respond or does not have its certificate yet. */
const status = async (...[replica, part, line]: Parameters<typeof answer>) =>
  (await answer(replica, part, line).catch(() => ({ status: 0 }))).status;

async function leads(replica: Replica): Promise<boolean> {
  const { body } = await answer(replica, 'metrics', 'GET /metrics');
  return parseExposition(body).get('purser_leader')?.samples.get('[]') === 1;
}

async function untilLeads(replica: Replica): Promise<void> {
  await eventually(() => leads(replica));
}

async function rotate(request: string): Promise<void> {
  await world.kubectl('annotate', ...TOKEN, `tokens.purser.dev/rotate=${request}`, '--overwrite');
  await world.until(...TOKEN, `--for=jsonpath={.status.lastRotateRequest}=${request}`);
}

const secret = () => world.kubectl('get', '-n', 'team-a', 'secret/ci-deployer', '-o', 'jsonpath={.metadata.resourceVersion} {.data.token}');

describe('Deployment with two replicas', () => {
  it('elects another leader after the leader is killed', async () => {
    const [first, second] = await startPair();
    await world.until(...TOKEN, '--for=condition=Ready');
    first.program.signal('SIGKILL');

    await untilLeads(second);
    await rotate('after-a-kill');
    await second.program.stop();
  });

  it('elects another leader when the leader freezes, and keeps the Secrets after it resumes', async () => {
    const [frozen, second] = await startPair();
    await rotate('before-the-frost');
    frozen.program.signal('SIGSTOP');
    await untilLeads(second);
    await rotate('in-the-frost');
    const written = await secret();
    frozen.program.signal('SIGCONT');
    await eventually(async () => (await frozen.program.output()).includes('lost leadership'));
    await eventually(async () => (await frozen.program.output()).includes('standing by'));

    expect([await leads(frozen), await leads(second)]).toEqual([false, true]);
    expect(await secret()).toBe(written);
    await rotate('after-the-thaw');
    await Promise.all([frozen.program.stop(), second.program.stop()]);
  });

  it('hands over leadership after SIGTERM, once the old leader has finished its work', async () => {
    const [leader, second] = await startPair();
    expect(await second.program.output()).not.toContain(LEADS);
    const asked = new AuditLog(world.hub.auditLog, 'system:serviceaccount:purser-system:purser');
    await asked.skip();
    world.target.pause();
    await world.kubectl('annotate', ...TOKEN, 'tokens.purser.dev/rotate=while-stopping', '--overwrite');
    await eventually(async () => (await asked.requests()).includes('create subjectaccessreviews'));
    leader.program.signal('SIGTERM');
    await eventually(async () => (await status(leader, 'metrics', 'GET /readyz')) === 500);
    const draining = await answer(leader, 'metrics', 'GET /readyz?verbose');
    const isHeld = await leads(leader);
    world.target.resume();
    await leader.program.ended;

    expect(draining.body).toContain('[-]shutdown failed');
    expect(isHeld).toBe(true);
    await untilLeads(second);
    await world.until(...TOKEN, '--for=jsonpath={.status.lastRotateRequest}=while-stopping');
    await second.program.stop();
  });

  it('stays ready while the hub is down, returns 503 to callers, and resumes afterwards', async () => {
    const replicas = await startPair();
    const caller = await world.tokenOf('team-a', 'ci');
    await world.hub.kill();
    const answers = await Promise.all(replicas.map((replica) => answer(replica, 'facade', 'GET /auth/v1/clusters', caller)));
    const states = await Promise.all(replicas.map((replica) => status(replica, 'metrics', 'GET /readyz')));

    expect(states).toEqual([200, 200]);
    for (const { status: code, headers } of answers) {
      expect([code, headers['retry-after']]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
    }
    await world.hub.restart();
    await rotate('with-the-hub-back');
  });
});
