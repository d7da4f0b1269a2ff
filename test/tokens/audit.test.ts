// Audit lines in the log, at every level.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { ManagedTokens } from '../../src/api/resources.ts';
import { AUDIENCE, type RunningController, TokenWorld } from './token-world.ts';

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
});
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

type Line = Readonly<Record<string, unknown>>;

function lines({ logged }: RunningController): readonly Line[] {
  return logged.map((line) => JSON.parse(line) as Line).filter(({ audit }) => audit === 'ManagedToken');
}

const auditLine = async (controller: RunningController, decision: string): Promise<Line> => {
  await world.until(async () => lines(controller).some((line) => line['decision'] === decision));
  return lines(controller).find((line) => line['decision'] === decision) ?? {};
};

it('logs audit lines for a token that is issued, rotated and revoked, with its ID only', async () => {
  const controller = await world.run();
  await world.create('ci', { revocation: 'BoundSecret' });
  await world.waitUntilReady();
  const issued = await auditLine(controller, 'issued');
  // The world searches the log for this token at the end of the test.
  await world.tokenText();
  const { status } = await world.get();

  expect(issued).toMatchObject({
    level: 'info',
    key: `${world.namespace}/ci`,
    reason: 'SecretMissing',
    cluster: world.cluster,
    serviceAccount: 'deploy/deployer',
    audiences: [AUDIENCE],
    credentialID: status?.credentialID,
    expiresAt: status?.expirationTimestamp,
  });
  expect(status?.credentialID).toBeDefined();

  await world.pass(5_000);
  await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/rotate': '1' } } });
  const rotated = await auditLine(controller, 'rotated');
  expect(rotated).toMatchObject({ level: 'info', key: `${world.namespace}/ci`, reason: 'RotationRequested' });
  expect(rotated['credentialID']).not.toBe(status?.credentialID);

  await world.pass(5_000);
  await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': '1' } } });
  const revoked = await auditLine(controller, 'revoked');
  expect(revoked).toMatchObject({ level: 'info', reason: 'RevocationRequested', credentialID: rotated['credentialID'] });
});

it('logs an audit line for a token that is withdrawn', async () => {
  const controller = await world.run();
  await world.create();
  await world.waitUntilReady();
  await world.waitForReconcile();
  const { status } = await world.get();
  await world.forbid();
  await world.waitForReconcile();
  await world.pass(30_000, 500);
  await world.until(async () => (await world.secret()) === undefined);

  expect(await auditLine(controller, 'withdrawn')).toMatchObject({
    level: 'info',
    key: `${world.namespace}/ci`,
    reason: 'Forbidden',
    credentialID: status?.credentialID,
  });
});

it('logs an audit line for a token that is revoked with its ManagedToken', async () => {
  const controller = await world.run();
  await world.create('ci', { revocation: 'BoundSecret' });
  await world.waitUntilReady();
  await world.waitForReconcile();
  const { status, metadata } = await world.get();
  await world.hub.admin.delete(ManagedTokens, { namespace: world.namespace, name: 'ci' });

  expect(await auditLine(controller, 'revoked')).toMatchObject({
    level: 'info',
    key: `${metadata.namespace}/ci`,
    reason: 'Deleted',
    credentialID: status?.credentialID,
  });
});

it('logs audit lines even if only errors are logged', async () => {
  const controller = await world.run({ logLevel: 'error' });
  await world.create();
  await world.waitUntilReady();

  expect(await auditLine(controller, 'issued')).toMatchObject({ level: 'info', key: `${world.namespace}/ci` });
});
