// The server on a full disk. A trigger in the database simulates the full disk: transactions fail in the same way.

import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'undici';
import { newFolder } from '../../test/support/folders.ts';
import { TEST_USERS } from '../../test/support/users.ts';
import { type ApiServer, startApiServer } from '../server.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const DISK_FULL =
  'Internal error occurred: the data folder cannot be written (database or disk is full); nothing was changed. Correct the cause, for example free disk space, and try again';

describe('startApiServer on a full disk', () => {
  let folder: string;
  let server: ApiServer | undefined;
  let agent: Agent;
  let faults: unknown[];

  beforeEach(async () => {
    folder = await newFolder();
    faults = [];
    await start();
    await stop();
  });
  afterEach(stop);

  async function start(): Promise<void> {
    const report = (error: unknown) => void faults.push(error);
    server = await startApiServer({ folder, port: 0, issuer: 'https://hub.test', tokens: TEST_USERS, report });
    agent = new Agent({ connect: { ca: server.ca } });
  }

  async function stop(): Promise<void> {
    await agent.close();
    await server?.close();
    server = undefined;
  }

  /** Executes SQL while no server has the database open. */
  function edit(sql: string): void {
    const database = new DatabaseSync(join(folder, 'state.db'));
    database.exec(sql);
    database.close();
  }

  async function call(path: string, method: 'GET' | 'POST' | 'PUT' | 'DELETE' = 'GET', body?: object) {
    const headers = { authorization: 'Bearer admintoken', 'content-type': 'application/json' };
    const response = await request(`${server?.url}${path}`, {
      method,
      headers,
      dispatcher: agent,
      ...(body && { body: JSON.stringify(body) }),
    });
    return { code: response.statusCode, text: await response.body.text() };
  }

  const map = (name: string, value: string) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value } });
  const failWritesSql = (condition: string) =>
    `CREATE TRIGGER full BEFORE INSERT ON objects WHEN ${condition} BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END`;

  it('rejects and undoes a write, serves reads, and accepts later writes without a restart', async () => {
    edit(failWritesSql(`NEW.body LIKE '%too large%'`));
    await start();
    await call(MAPS, 'POST', map('kept', 'old'));

    const rejections = [await call(MAPS, 'POST', map('new', 'too large')), await call(`${MAPS}/kept`, 'PUT', map('kept', 'too large'))];
    expect(rejections.map(({ code, text }) => [code, (JSON.parse(text) as { message: string }).message])).toEqual([
      [500, DISK_FULL],
      [500, DISK_FULL],
    ]);
    expect([(await call('/livez')).code, (await call('/readyz')).code, (await call(`${MAPS}/new`)).code]).toEqual([200, 200, 404]);
    expect(JSON.parse((await call(`${MAPS}/kept`)).text)).toMatchObject({ data: { value: 'old' } });

    expect((await call(MAPS, 'POST', map('new', 'small'))).code).toBe(201);
    await stop();
    await start();
    expect(JSON.parse((await call(MAPS)).text)).toMatchObject({
      items: [map('kept', 'old'), map('new', 'small')].map(({ data }) => ({ data })),
    });
    expect(faults).toEqual([expect.objectContaining({ message: 'database or disk is full' })]);
  });

  it('starts on a full disk and serves stored objects', async () => {
    await start();
    await call(MAPS, 'POST', map('kept', 'old'));
    await stop();
    // A controller tries to re-create the service account.
    edit(`DELETE FROM objects WHERE resource = 'serviceaccounts' AND key = 'default/default'; ${failWritesSql('TRUE')}`);
    await start();
    expect((await call(`${MAPS}/kept`)).code).toBe(200);
    expect((await call(MAPS, 'POST', map('new', 'x'))).code).toBe(500);
  });
});
