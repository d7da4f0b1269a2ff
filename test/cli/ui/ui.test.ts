import { once } from 'node:events';
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { errorStatus } from '../../targets/wire-target.ts';
import { CallerWorld } from '../facade/caller-world.ts';

let world: CallerWorld;
beforeEach(async () => {
  world = await CallerWorld.start();
});
afterEach(() => world.close());

interface Shown {
  readonly url: string;
  /** Ends the command; returns its exit code and its output. */
  readonly end: () => Promise<{ readonly code: number | null; readonly output: string; readonly stderr: string }>;
}

/** Runs the command until it has printed the address of the page. */
async function show(line: string, env: Readonly<Record<string, string>> = {}): Promise<Shown> {
  const ending = new AbortController();
  let [output, stderr] = ['', ''];
  const printed = Promise.withResolvers<string>();
  const running = world.run(line, {
    env: { ...world.env, ...env },
    signal: ending.signal,
    print: (each) => {
      output += each;
      printed.resolve(each.trim());
    },
    warn: (each) => void (stderr += each),
  });
  const url = await Promise.race([printed.promise, running.then(({ code }) => Promise.reject(new Error(`exit ${code}: ${stderr}`)))]);
  const end = async () => {
    ending.abort();
    const { code } = await running;
    return { code, output, stderr };
  };
  return { url, end };
}

/** Opens a connection to the server of the page, and sends bytes. */
async function send(url: string, bytes: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/**
 * Sends a raw request, because HTTP clients do not send request targets such as `//`. Returns the response after the server closes the
 * connection.
 */
async function fetchTarget(url: string, target: string): Promise<string> {
  const socket = await send(url, `GET ${target} HTTP/1.1\r\nHost: ${new URL(url).host}\r\n\r\n`);
  return await text(socket);
}

async function fetchPage(url: string, headers: Readonly<Record<string, string>> = {}) {
  return await new Promise<{ readonly status: number | undefined; readonly headers: unknown; readonly body: string }>((resolve, reject) => {
    get(url, { headers, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode, headers: response.headers, body }), reject);
    }).on('error', reject);
  });
}

const api = (url: string, path: string) => url.replace(/ui\/$/, path);

describe('purser ui', () => {
  it('serves the page without a login, at an address with a secret on the loopback address', async () => {
    const { url, end } = await show('ui --no-open');
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{32}\/ui\/$/);
    const { status, headers, body } = await fetchPage(url);
    expect(status).toBe(200);
    expect(body).toContain('data-login="none"');
    expect(headers).toMatchObject({
      'content-security-policy': expect.stringContaining("default-src 'none'") as unknown,
      'referrer-policy': 'no-referrer',
    });
    expect((await fetchPage(`${url}page/main.js`)).status).toBe(200);
    expect(await end()).toMatchObject({ code: 0, output: `${url}\n` });
  });

  it('reads lists with the credential in the kubeconfig, and passes on only known parameters', async () => {
    world.rejection = (_, reply) => reply.json(200, { kind: 'ClusterList', items: [] });
    const { url, end } = await show('ui --no-open');
    const { status, body } = await fetchPage(api(url, 'auth/v1/clusters?limit=500&pretty=true'));
    expect([status, JSON.parse(body)]).toEqual([200, { kind: 'ClusterList', items: [] }]);
    expect(world.facade.requests.at(-1)).toMatchObject({ method: 'GET', headers: { authorization: 'Bearer caller-token' } });
    expect(world.facade.requests.at(-1)?.path).not.toContain('pretty');
    await end();
  });

  it('requests Clusters from the hub', async () => {
    const { url, end } = await show('ui --no-open');
    // The scripted hub has no Clusters.
    expect((await fetchPage(api(url, 'hub/clusters?limit=500'))).status).toBe(404);
    expect(world.hub.requests.at(-1)?.path).toContain('/apis/registry.purser.dev/v1alpha1/clusters');
    await end();
  });

  it.each([
    ['auth/v1/clusters/target-1'],
    ['auth/v1/namespaces/a/managedtokens'],
    ['api/v1/secrets'],
    ['hub/secrets'],
    ['orchestrator/x'],
    ['../x'],
  ])('sends no request for the path %s', async (path) => {
    const { url, end } = await show('ui --no-open');
    const before = world.facade.requests.length + world.hub.requests.length;
    expect((await fetchPage(api(url, path))).status).toBe(404);
    expect(world.facade.requests.length + world.hub.requests.length).toBe(before);
    await end();
  });

  it('rejects requests without the secret, for another host, and from another site', async () => {
    const { url, end } = await show('ui --no-open');
    const { origin, port } = new URL(url);
    expect((await fetchPage(`${origin}/ui/`)).status).toBe(404);
    expect((await fetchPage(api(url, 'auth/v1/clusters'), { host: `evil.example:${port}` })).status).toBe(421);
    expect((await fetchPage(api(url, 'auth/v1/clusters'), { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect(world.facade.requests).toEqual([]);
    await end();
  });

  it('rejects request targets without the secret as their first segment, and closes the connections', async () => {
    const { url, end } = await show('ui --no-open');
    const secret = new URL(url).pathname.split('/')[1];
    for (const target of ['//', '//[', `//evil.example/${secret}/hub/clusters`, `/\\evil.example/${secret}/hub/clusters`])
      expect(await fetchTarget(url, target)).toMatch(/^HTTP\/1\.1 404 /);
    expect((await fetchPage(url)).status).toBe(200);
    expect(world.facade.requests).toEqual([]);
    await end();
  });

  it('closes connections that send no complete request, to make room for other requests', async () => {
    const { url, end } = await show('ui --no-open');
    const half = `GET / HTTP/1.1\r\nHost: ${new URL(url).host}\r\n`;
    const sockets = await Promise.all(Array.from({ length: 256 }, (_, index) => send(url, index % 2 === 0 ? half : '')));
    await expect(fetchPage(url)).rejects.toThrow(/socket hang up|ECONNRESET/);
    await Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
    expect((await fetchPage(url)).status).toBe(200);
    await end();
  });

  it('reads the token again when the façade rejects it, and returns 401 if the façade rejects the token again', async () => {
    const { url, end } = await show('ui --no-open');
    world.rejection = ({ headers }, reply) =>
      headers.authorization === 'Bearer second-token'
        ? reply.json(200, { items: [] })
        : reply.json(401, errorStatus(401, 'Unauthorized', { reason: 'Unauthorized' }));
    expect((await fetchPage(api(url, 'auth/v1/clusters'))).status).toBe(401);
    await world.writeKubeconfig('second-token');
    expect((await fetchPage(api(url, 'auth/v1/clusters'))).status).toBe(200);
    await end();
  });

  it('reads the token again when the hub rejects it', async () => {
    const { url, end } = await show('ui --no-open');
    const metadata = { namespace: 'purser-system', name: 'purser-facade-ca', uid: 'u', resourceVersion: '1' };
    world.hub.handle(({ path, headers }, reply) => {
      if (path.endsWith(`/configmaps/${metadata.name}`)) return reply.json(200, { metadata, data: world.published });
      if (headers.authorization === 'Bearer second-token') return reply.json(200, { items: [] });
      reply.json(401, errorStatus(401, 'Unauthorized', { reason: 'Unauthorized' }));
    });
    expect((await fetchPage(api(url, 'hub/clusters'))).status).toBe(401);
    await world.writeKubeconfig('second-token');
    expect((await fetchPage(api(url, 'hub/clusters'))).status).toBe(200);
    await end();
  });

  it('passes on status, message and Retry-After of errors', async () => {
    world.rejection = (_, reply) => reply.json(429, errorStatus(429, 'too many', { reason: 'TooManyRequests' }), { 'retry-after': '3' });
    const { url, end } = await show('ui --no-open');
    const { status, headers, body } = await fetchPage(api(url, 'auth/v1/managedtokens'));
    expect([status, JSON.parse(body)]).toMatchObject([429, { message: 'too many' }]);
    expect(headers).toMatchObject({ 'retry-after': '3' });
    await end();
  });

  it('opens a private file instead of the address in the browser, and removes the file at the end', async () => {
    const [browser, opened] = [join(world.folder, 'browser'), join(world.folder, 'opened')];
    await writeFile(browser, `#!/bin/sh\ncp "$1" ${opened}.html\necho "$1" > ${opened}\n`);
    await chmod(browser, 0o700);
    const { url, end } = await show('ui', { BROWSER: browser });
    let file = '';
    while (file === '') file = (await readFile(opened, 'utf8').catch(() => '')).trim();
    expect(file).not.toContain(new URL(url).pathname.split('/')[1]);
    expect([(await stat(file)).mode & 0o777, (await stat(dirname(file))).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(await readFile(`${opened}.html`, 'utf8')).toContain(`url=${url}"`);
    expect(await end()).toMatchObject({ code: 0 });
    await expect(stat(file)).rejects.toThrow('ENOENT');
  });

  it('passes arguments in BROWSER to the browser, before the file', async () => {
    const [browser, opened] = [join(world.folder, 'browser'), join(world.folder, 'opened')];
    await writeFile(browser, `#!/bin/sh\necho "$#" "$1" "$2" > ${opened}.new\nmv ${opened}.new ${opened}\n`);
    await chmod(browser, 0o700);
    const { end } = await show('ui', { BROWSER: `${browser}  --new-window --incognito` });
    let line = '';
    while (line === '') line = (await readFile(opened, 'utf8').catch(() => '')).trim();
    expect(line).toBe('3 --new-window --incognito');
    expect((await end()).stderr).not.toContain('cannot start');
  });

  it('names the browser that could not be started', async () => {
    const missing = join(world.folder, 'missing');
    const { end } = await show('ui', { BROWSER: `${missing} --new-window` });
    expect((await end()).stderr).toContain(
      `purser: cannot start ${missing}. Open the address above, or set BROWSER to the command of a browser\n`,
    );
  });

  it('names the port that is in use', async () => {
    const { url, end } = await show('ui --no-open');
    const { port } = new URL(url);
    expect(await world.run(`ui --no-open --port ${port}`)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^purser: cannot listen on port \d+: .*EADDRINUSE.*\. Set --port to a free port, or to 0 for any free port\n$/,
      ) as unknown,
    });
    await end();
  });

  it('reports the remedy for a context without a bearer token', async () => {
    expect(await world.run('ui --no-open --context certificate')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('Set --service-account NAMESPACE/NAME') as unknown,
    });
  });
});
