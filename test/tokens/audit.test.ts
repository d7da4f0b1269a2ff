// The lines that tell people afterwards which tokens there were, at the level that a cluster logs at.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { ManagedTokens } from '../../src/api/resources.ts';
import { AUDIENCE, type RunningController, TokenWorld } from './token-world.ts';

jest.setTimeout(60_000);

let world: TokenWorld;

beforeAll(async () => {
  world = await TokenWorld.start();
}, 60_000);
beforeEach(() => world.begin());
afterEach(() => world.end());
afterAll(() => world.close());

type Line = Readonly<Record<string, unknown>>;

function lines({ logged }: RunningController): readonly Line[] {
  return logged.map((line) => JSON.parse(line) as Line).filter(({ audit }) => audit === 'ManagedToken');
}

const told = async (controller: RunningController, decision: string): Promise<Line> => {
  await world.until(async () => lines(controller).some((line) => line['decision'] === decision));
  return lines(controller).find((line) => line['decision'] === decision) ?? {};
};

it('tell of a token that is issued, rotated and revoked, by its id alone', async () => {
  const controller = await world.run();
  await world.create('ci', { revocation: 'BoundSecret' });
  await world.ready();
  const issued = await told(controller, 'issued');
  // Whatever is seen is looked for in the log when the test ends.
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
  const rotated = await told(controller, 'rotated');
  expect(rotated).toMatchObject({ level: 'info', key: `${world.namespace}/ci`, reason: 'RotationRequested' });
  expect(rotated['credentialID']).not.toBe(status?.credentialID);

  await world.pass(5_000);
  await world.patch('ci', { metadata: { annotations: { 'tokens.purser.dev/revoke': '1' } } });
  const revoked = await told(controller, 'revoked');
  expect(revoked).toMatchObject({ level: 'info', reason: 'RevocationRequested', credentialID: rotated['credentialID'] });
});

it('tell of a token that is withdrawn', async () => {
  const controller = await world.run();
  await world.create();
  await world.ready();
  await world.looked();
  const { status } = await world.get();
  await world.forbid();
  await world.looked();
  await world.pass(30_000, 500);
  await world.until(async () => (await world.secret()) === undefined);

  expect(await told(controller, 'withdrawn')).toMatchObject({
    level: 'info',
    key: `${world.namespace}/ci`,
    reason: 'Forbidden',
    credentialID: status?.credentialID,
  });
});

it('tell of a token that dies with its ManagedToken', async () => {
  const controller = await world.run();
  await world.create('ci', { revocation: 'BoundSecret' });
  await world.ready();
  await world.looked();
  const { status, metadata } = await world.get();
  await world.hub.admin.delete(ManagedTokens, { namespace: world.namespace, name: 'ci' });

  expect(await told(controller, 'revoked')).toMatchObject({
    level: 'info',
    key: `${metadata.namespace}/ci`,
    reason: 'Deleted',
    credentialID: status?.credentialID,
  });
});
