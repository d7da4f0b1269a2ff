// Replicas of the Deployment on a real hub: killed, frozen, stopped, and without the hub.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseExposition } from '../support/exposition.ts';
import type { Program } from '../support/processes.ts';
import { AuditLog } from './audit-log.ts';
import { type Deployment, DeployWorld, isDeployment, renderKustomization, waitUntil } from './deploy-world.ts';

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
  deployment = (await renderKustomization('base')).find(isDeployment) as Deployment;
  await world.kubectl('create', 'serviceaccount', 'prometheus', '-n', 'default');
  const subject = '--serviceaccount=default:prometheus';
  await world.kubectl('create', 'clusterrolebinding', 'scrape', '--clusterrole=purser-metrics-reader', subject);
  scraper = await world.createToken('default', 'prometheus');
  await world.register('target-1');
  await world.kubectl('apply', '-f', 'REPO/deploy/samples/ci-deployer.yaml');
});

afterAll(() => world?.stop());

async function start(): Promise<Replica> {
  const name = `purser-${started++}`;
  const program = await world.startDeployed({ ...deployment, metadata: { ...deployment.metadata, name } });
  const replica = { name, program };
  await waitUntil(async () => (await status(replica, 'metrics', 'GET /readyz')) === 200);
  return replica;
}

/** Starts two replicas, the first of which leads. */
async function startPair(): Promise<readonly [Replica, Replica]> {
  const leader = await start();
  await waitUntil(async () => await leads(leader));
  return [leader, await start()];
}

const send = (replica: Replica, part: 'facade' | 'metrics', line: string, token = scraper) =>
  world.request([replica.name, part], line, { headers: { authorization: `Bearer ${token}` } });

/** Returns the status code, or 0 if the replica does not respond or does not have its certificate yet. */
const status = async (...[replica, part, line]: Parameters<typeof send>) =>
  (await send(replica, part, line).catch(() => ({ status: 0 }))).status;

async function leads(replica: Replica): Promise<boolean> {
  const { body } = await send(replica, 'metrics', 'GET /metrics');
  return parseExposition(body).get('purser_leader')?.samples.get('[]') === 1;
}

async function waitUntilLeads(replica: Replica): Promise<void> {
  await waitUntil(() => leads(replica));
}

async function rotate(request: string): Promise<void> {
  await world.kubectl('annotate', ...TOKEN, `tokens.purser.dev/rotate=${request}`, '--overwrite');
  await world.waitFor(...TOKEN, `--for=jsonpath={.status.lastRotateRequest}=${request}`);
}

const secret = () => world.kubectl('get', '-n', 'team-a', 'secret/ci-deployer', '-o', 'jsonpath={.metadata.resourceVersion} {.data.token}');

describe('Deployment with two replicas', () => {
  it('elects another leader after the leader is killed', async () => {
    const [first, second] = await startPair();
    await world.waitFor(...TOKEN, '--for=condition=Ready');
    first.program.signal('SIGKILL');

    await waitUntilLeads(second);
    await rotate('after-kill');
    await second.program.stop();
  });

  it('elects another leader when the leader freezes, and keeps the Secrets after it resumes', async () => {
    const [frozen, second] = await startPair();
    await rotate('before-freeze');
    frozen.program.signal('SIGSTOP');
    await waitUntilLeads(second);
    await rotate('during-freeze');
    const written = await secret();
    frozen.program.signal('SIGCONT');
    await waitUntil(async () => (await frozen.program.output()).includes('lost leadership'));
    await waitUntil(async () => (await frozen.program.output()).includes('standing by'));

    expect([await leads(frozen), await leads(second)]).toEqual([false, true]);
    expect(await secret()).toBe(written);
    await rotate('after-freeze');
    await Promise.all([frozen.program.stop(), second.program.stop()]);
  });

  it('transfers leadership after SIGTERM when the old leader has finished its work', async () => {
    const [leader, second] = await startPair();
    expect(await second.program.output()).not.toContain(LEADS);
    const audit = new AuditLog(world.hub.auditLog, 'system:serviceaccount:purser-system:purser');
    await audit.skip();
    world.target.pause();
    // The request to the paused target fails after ten seconds. kubectl is not awaited yet, so that the checks of /readyz and leadership run
    // before that.
    const annotated = world.kubectl('annotate', ...TOKEN, 'tokens.purser.dev/rotate=while-stopping', '--overwrite');
    await waitUntil(async () => (await audit.requests()).includes('create subjectaccessreviews'));
    leader.program.signal('SIGTERM');
    let readiness = await send(leader, 'metrics', 'GET /readyz?verbose');
    while (readiness.status !== 500) readiness = await send(leader, 'metrics', 'GET /readyz?verbose');
    const leadsWhileDraining = await leads(leader);
    await annotated;
    world.target.resume();
    await leader.program.ended;

    expect(readiness.body).toContain('[-]shutdown failed');
    expect(leadsWhileDraining).toBe(true);
    await waitUntilLeads(second);
    await world.waitFor(...TOKEN, '--for=jsonpath={.status.lastRotateRequest}=while-stopping');
    await second.program.stop();
  });

  it('stays ready while the hub is down, returns 503 to callers, and resumes afterwards', async () => {
    const replicas = await startPair();
    const caller = await world.createToken('team-a', 'ci');
    await world.hub.kill();
    const responses = await Promise.all(replicas.map((replica) => send(replica, 'facade', 'GET /auth/v1/clusters', caller)));
    const states = await Promise.all(replicas.map((replica) => status(replica, 'metrics', 'GET /readyz')));

    expect(states).toEqual([200, 200]);
    for (const { status: code, headers } of responses) {
      expect([code, headers['retry-after']]).toEqual([503, expect.stringMatching(/^[1-9]\d*$/)]);
    }
    await world.hub.restart();
    await rotate('after-hub-restart');
  });
});
