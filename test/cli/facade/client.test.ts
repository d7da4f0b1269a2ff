import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createAuthority } from '../../../src/std/x509/certificates.ts';
import { forwardConnection } from '../../support/port-forward-server.ts';
import { errorStatus } from '../../targets/wire-target.ts';
import { CallerWorld } from './caller-world.ts';

let world: CallerWorld;
beforeEach(async () => {
  world = await CallerWorld.start();
});
afterEach(() => world.close());

const TOKEN = 'token target-1 deploy/deployer';
/** Command that sends no request for the Cluster. */
const TOKEN_ALONE = `${TOKEN} --audience a`;
const KUBECONFIG = 'kubeconfig target-1 deploy/deployer';
/** Runs the command and returns its only line of standard error. */
const failure = async (line: string, env = world.env) => {
  const { code, output, stderr } = await world.run(line, { env });
  expect([code, output]).toEqual([1, '']);
  expect(stderr).toMatch(/^purser: [^\n]*\n$/);
  return stderr;
};

describe('FacadeClient.open', () => {
  it('prefers --facade, then PURSER_FACADE, then the published URL', async () => {
    const published = world.published;
    world.published = { ...published, server: 'https://127.0.0.1:1' };
    expect(await failure(TOKEN)).toContain('cannot connect to the façade https://127.0.0.1:1');
    const env = { ...world.env, PURSER_FACADE: world.facade.url };
    expect(await world.run(TOKEN, { env })).toMatchObject({ code: 0 });
    expect(await failure(`${TOKEN} --facade https://127.0.0.1:2`, env)).toContain('https://127.0.0.1:2');
  });

  it('names the source of an address that does not respond', async () => {
    const remedy = (source: string) => `Check the URL from ${source}, or set another URL with --facade`;
    expect(await failure(`${TOKEN} --facade https://127.0.0.1:1`)).toContain(remedy('--facade'));
    expect(await failure(TOKEN, { ...world.env, PURSER_FACADE: 'https://127.0.0.1:1' })).toContain(remedy('PURSER_FACADE'));
    world.published = { ...world.published, server: 'https://127.0.0.1:1' };
    expect(await failure(TOKEN)).toContain(remedy('the ConfigMap purser-system/purser-facade-ca'));
  });

  it.each([
    ['PURSER_FACADE', 'http://127.0.0.1', 'an https URL'],
    ['PURSER_FACADE_PATH', '../x', 'a path segment'],
    ['PURSER_NAMESPACE', 'a/b', ''],
  ])('rejects the variable %s=%s', async (variable, value, text) => {
    const { code, stderr } = await world.run(TOKEN, { env: { ...world.env, [variable]: value } });
    expect([code, stderr]).toEqual([2, expect.stringContaining(`purser: ${variable} must be ${text}`)]);
    expect(world.hub.requests).toEqual([]);
  });

  it('sends no request to the hub if options name URL, CA and path of the façade', async () => {
    const { code } = await world.run(
      `${TOKEN} --facade ${world.facade.url}/ --facade-ca ${world.authorityFile} --facade-path orchestrator`,
    );
    expect([code, world.hub.requests]).toEqual([0, []]);
  });

  it('uses the published path of token requests', async () => {
    world.published = { ...world.published, path: 'kubernetes' };
    await world.run(TOKEN);
    expect(world.tokenRequests[0]?.path).toMatch(/^\/kubernetes\/target-1\//);
  });

  it.each([
    [
      'server',
      'http://127.0.0.1:8056',
      'must be an https URL without user, query or fragment, such as https://purser.example.com, not "http://127.0.0.1:8056". ',
    ],
    ['server', '', 'must be an https URL without user, query or fragment, such as https://purser.example.com, not "". '],
    ['server', 'nonsense', 'not "nonsense". Correct the ConfigMap, or set --facade\n'],
    ['path', '../x', 'not "../x". Correct the ConfigMap, or set --facade-path\n'],
    ['ca.crt', 'no PEM', "Set --facade-ca to a PEM file with the CA of the façade's certificate\n"],
  ])('rejects the value of the key %s of the ConfigMap: "%s"', async (key, value, text) => {
    world.published = { ...world.published, [key]: value };
    const stderr = await failure(TOKEN);
    expect(stderr).toContain(text);
    expect(stderr).toContain('the ConfigMap purser-system/purser-facade-ca');
    expect(world.facade.requests).toEqual([]);
  });

  it('names --facade-ca for a façade certificate that cannot be verified', async () => {
    const other = join(world.folder, 'other.crt');
    await writeFile(other, createAuthority(Date.now()).certificate);
    expect(await failure(`${TOKEN} --facade-ca ${other}`)).toMatch(
      /the TLS handshake with the façade .* failed: .*certificate.*\. Set --facade-ca to the CA of the façade's certificate/,
    );
    expect(await failure(`${TOKEN} --facade-ca system`)).toMatch(/the TLS handshake with the façade .* failed: .*certificate/);
    await writeFile(other, 'no PEM');
    expect(await failure(`${TOKEN} --facade-ca ${other}`)).toContain(`cannot use the CA ${other}`);
  });

  it('names --service-account for contexts without a bearer token', async () => {
    for (const context of ['certificate', 'basic', 'impersonating']) {
      expect(await failure(`${TOKEN} --context ${context}`)).toContain('Set --service-account NAMESPACE/NAME');
    }
  });

  it('requests a ten-minute hub token with --service-account', async () => {
    world.published = { ...world.published, audiences: 'facade,other' };
    expect(await world.run(`${TOKEN} --context certificate --service-account team-a/ci`)).toMatchObject({ code: 0 });
    const request = world.hub.requests.find(({ method }) => method === 'POST');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ spec: { audiences: ['facade'], expirationSeconds: 600 } });
    expect(world.tokenRequests[0]?.headers.authorization).toBe('Bearer hub-token-of-service-account');
    expect(await failure(`${TOKEN} --service-account team-a/missing`)).toContain('Check --service-account');
  });

  it('requests the hub token for the published audience even if options name URL, CA and path of the façade', async () => {
    world.published = { ...world.published, audiences: 'facade,other' };
    const options = `--facade ${world.facade.url}/ --facade-ca ${world.authorityFile} --facade-path orchestrator`;
    expect(await world.run(`${TOKEN} --service-account team-a/ci ${options}`)).toMatchObject({ code: 0 });
    const request = world.hub.requests.find(({ method }) => method === 'POST');
    expect(JSON.parse(request?.body ?? '')).toMatchObject({ spec: { audiences: ['facade'] } });
  });

  it.each([
    [401, 'Unauthorized', 'Log in to the hub again'],
    [403, 'cannot issue', 'Ask an administrator of the hub for the permission'],
    [404, 'not found', 'Check the names'],
    [503, 'unreachable', 'check the status of the Cluster'],
    [422, 'spec.audiences: Required value', 'spec.audiences: Required value'],
  ])('reports a response %i on one line, without tokens and, if one is known, with a remedy', async (code, message, remedy) => {
    world.rejection = (_, reply) => reply.json(code, errorStatus(code, `${message} Bearer eyJhbGciOi.eyJzdWIiOi.c2ln`));
    const text = await failure(TOKEN);
    expect(text).toContain(remedy);
    expect(text).not.toContain('eyJ');
  });

  it('rejects a server that is not the façade', async () => {
    world.rejection = (_, reply) => reply.text(200, '<html>');
    expect(await failure(TOKEN)).toContain("is not Purser's façade");
  });

  it.each([
    ['the token', TOKEN_ALONE, { status: { token: ['abc'], expirationTimestamp: '2026-11-15T12:00:00Z' } }],
    ['the expiry', TOKEN_ALONE, { status: { token: 'abc', expirationTimestamp: 1 } }],
    ['the spec', KUBECONFIG, {}],
    ['the list of endpoints', KUBECONFIG, { spec: { orchestratorApiEndpoints: { serverEndpoints: 1 } } }],
    ['an endpoint', KUBECONFIG, { spec: { orchestratorApiEndpoints: { serverEndpoints: [null] } } }],
  ])('rejects a server if %s in the response is missing or invalid', async (_, line, body) => {
    world.rejection = (_request, reply) => reply.json(200, { kind: 'Cluster', metadata: { name: 'target-1' }, ...body });
    expect(await failure(line)).toContain("is not Purser's façade");
  });

  it('reports that Purser publishes no façade URL and that a port-forward is not possible', async () => {
    world.published = undefined;
    expect(await failure(TOKEN)).toContain('Purser publishes no façade URL, and a port-forward is not possible');
  });
});

describe('FacadeClient.open with a port-forward', () => {
  it('connects to a ready pod of the Service, whose certificate is valid for the name of the Service', async () => {
    const { server: _, ...published } = world.published ?? {};
    const slice = {
      metadata: { namespace: 'purser-system', name: 'purser-1', uid: 'u', resourceVersion: '1' },
      ports: [{ port: 7444 }],
      endpoints: [
        { conditions: { ready: false }, targetRef: { kind: 'Pod', name: 'purser-0' } },
        { conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'purser-1' } },
      ],
    };
    const hub = createServer((request, response) => {
      const isList = request.url?.includes('/endpointslices?') === true;
      const object = {
        metadata: { namespace: 'purser-system', name: 'purser-facade-ca', uid: 'u', resourceVersion: '1' },
        data: published,
      };
      response.end(JSON.stringify(isList ? { metadata: { resourceVersion: '1' }, items: [slice] } : object));
    });
    const paths: (string | undefined)[] = [];
    hub.on('upgrade', (request, socket: Socket) => {
      paths.push(request.url);
      forwardConnection(request, socket, { port: Number(new URL(world.facade.url).port) });
    });
    await once(hub.listen(0, '127.0.0.1'), 'listening');
    const server = `http://127.0.0.1:${(hub.address() as AddressInfo).port}`;
    const kubeconfig = join(world.folder, 'forwarded');
    const context = { name: 'hub', context: { cluster: 'hub', user: 'me' } };
    const users = [{ name: 'me', user: { token: 'caller-token' } }];
    await writeFile(
      kubeconfig,
      JSON.stringify({ clusters: [{ name: 'hub', cluster: { server } }], users, contexts: [context], 'current-context': 'hub' }),
    );
    expect(await world.run(`${TOKEN} --kubeconfig ${kubeconfig}`)).toMatchObject({ code: 0, stderr: '' });
    expect(paths).toEqual(['/api/v1/namespaces/purser-system/pods/purser-1/portforward?ports=7444']);
    hub.close();
  });
});
