import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Purser } from './purser-process.ts';
import { rotateAll } from './rotation.ts';
import { PURSER_USER, type TokenWorld } from './token-world.ts';

const PURSER = { pid: process.pid, assertRunning: async () => {} } as unknown as Purser;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'purser-rotation-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('rotateAll', () => {
  it('counts rotations logged before the first read, and ignores those before the window', async () => {
    const dueAt = Date.now() + 3_000;
    const logs = { hub: join(folder, 'hub.log'), target: join(folder, 'target.log') };
    await writeFile(logs.hub, secretWritten(dueAt - 60_000));
    await writeFile(logs.target, '');
    const listAll = async () => {
      await appendFile(logs.hub, secretWritten(dueAt + 20));
      return [managedToken(dueAt)];
    };
    const world = { hub: { auditLog: logs.hub }, target: { auditLog: logs.target }, client: { listAll } };
    const { rotations, worstLateSeconds, late } = await rotateAll(world as unknown as TokenWorld, PURSER);
    expect({ rotations, worstLateSeconds, late }).toEqual({ rotations: 1, worstLateSeconds: 0.02, late: 0 });
  });
});

function managedToken(dueAt: number): object {
  const status = { nextRotationTime: instant(dueAt), expirationTimestamp: instant(dueAt + 60_000) };
  return { metadata: { namespace: 'team', name: 'token' }, status };
}

function secretWritten(at: number): string {
  const event = {
    stage: 'ResponseComplete',
    verb: 'update',
    requestURI: '/api/v1/namespaces/team/secrets/token',
    user: { username: PURSER_USER },
    objectRef: { resource: 'secrets', namespace: 'team', name: 'token' },
    responseStatus: { code: 200 },
    requestReceivedTimestamp: instant(at),
    stageTimestamp: instant(at),
  };
  return `${JSON.stringify(event)}\n`;
}

function instant(at: number): string {
  return new Date(at).toISOString();
}
