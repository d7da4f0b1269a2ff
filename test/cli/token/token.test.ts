import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AUDIENCE, CallerWorld } from '../facade/caller-world.ts';

let world: CallerWorld;
beforeEach(async () => {
  world = await CallerWorld.start();
});
afterEach(() => world.close());

const bodies = () => world.tokenRequests.map(({ body }) => (JSON.parse(body) as { readonly spec: unknown }).spec);

describe('purser token', () => {
  it("prints a token for the audiences of the cluster's API server", async () => {
    const { code, output, stderr } = await world.run('token target-1 deploy/deployer');
    expect([code, stderr]).toEqual([0, '']);
    expect(output).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/);
    expect(bodies()).toEqual([{ audiences: [AUDIENCE] }]);
    expect(world.tokenRequests[0]?.headers).toMatchObject({ authorization: 'Bearer caller-token', 'user-agent': 'purser-cli' });
  });

  it('requests the given audiences and lifetime with one request', async () => {
    await world.run('token target-1 deploy/deployer --audience a --audience b --duration 10m');
    expect(world.facade.requests).toHaveLength(1);
    expect(bodies()).toEqual([{ audiences: ['a', 'b'], expirationSeconds: 600 }]);
  });

  it('prints the TokenRequest with -o json, and warnings from the façade on standard error', async () => {
    const { output, stderr } = await world.run('token target-1 deploy/deployer --duration 48h -o json');
    expect(JSON.parse(output)).toMatchObject({ kind: 'TokenRequest', status: { expirationTimestamp: '2026-03-03T12:00:00Z' } });
    expect(stderr).toBe('Warning: requested expiration shortened\n');
  });

  it('rejects a token with characters that bearer tokens cannot have', async () => {
    const status = { token: 'a\u001b[2J\nb', expirationTimestamp: '2026-03-01T13:00:00Z' };
    world.rejection = (_, reply) => reply.json(201, { kind: 'TokenRequest', status });
    expect(await world.run('token target-1 deploy/deployer --audience a')).toEqual({
      code: 1,
      output: '',
      stderr: `purser: the façade ${world.facade.url} returned a token with characters that are not allowed in bearer tokens. Check the URL from the ConfigMap purser-system/purser-facade-ca, and the API server of the cluster target-1\n`,
    });
  });

  it('prints warnings from the façade without control characters', async () => {
    const status = { token: 'a.b.c', expirationTimestamp: '2026-03-01T13:00:00Z' };
    world.rejection = (_, reply) => reply.json(201, { kind: 'TokenRequest', status }, { warning: '299 - "a\u00c2\u009b2Jb"' });
    expect(await world.run('token target-1 deploy/deployer --audience a')).toMatchObject({
      code: 0,
      stderr: 'Warning: a 2Jb\n',
    });
  });

  it('exits with 2 without --audience if the audiences of the cluster are unknown', async () => {
    world.apiAudiences = undefined;
    expect(await world.run('token target-1 deploy/deployer')).toMatchObject({
      code: 2,
      output: '',
      stderr: 'purser: the audiences of cluster target-1 are unknown. Set --audience to an audience that its API server accepts\n',
    });
  });

  it.each([
    ['token target-1 deployer', 'NAMESPACE/NAME must be a service account such as deploy/deployer'],
    ['token target-1 deploy/a/b', 'NAMESPACE/NAME must be a service account such as deploy/deployer'],
    [
      'token Target deploy/deployer',
      'CLUSTER must be a name: at most 253 lowercase letters, digits, dots and hyphens, with a letter or digit at both ends',
    ],
    ['token target-1', "missing required argument 'NAMESPACE/NAME'"],
    ['token target-1 deploy/deployer --duration 1m', '--duration must be a duration of at least 10m'],
    ['token target-1 deploy/deployer --facade http://a', '--facade must be an https URL'],
    ['token target-1 deploy/deployer --service-account ci', '--service-account must be a service account'],
    ['token target-1 deploy/deployer --audiance a', "unknown option '--audiance'; did you mean --audience?"],
  ])('rejects the arguments "%s"', async (line, text) => {
    const { code, stderr } = await world.run(line);
    expect([code, stderr]).toEqual([2, expect.stringContaining(text)]);
    expect(stderr.trimEnd()).not.toContain('\n');
  });
});
