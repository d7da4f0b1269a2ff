import { afterEach, describe, expect, it } from '@jest/globals';
import { createProxyAgent } from '../../src/kube/proxy.ts';
import { type ConnectProxy, startConnectProxy } from '../targets/connect-proxy.ts';

let proxy: ConnectProxy | undefined;

afterEach(() => proxy?.close());

describe('createProxyAgent', () => {
  it('fails with ERR_PROXY_TUNNEL_TIMEOUT when the proxy opens no tunnel in time', async () => {
    proxy = await startConnectProxy(() => undefined, { rejection: 0 });
    const proxyUrl = `http://127.0.0.1:${proxy.port}`;
    const agent = createProxyAgent({ proxyUrl, connectTimeout: 4_000, tunnelTimeout: 50 });
    const request = agent.request({ origin: 'https://prod.example.test', method: 'GET', path: '/readyz' });

    await expect(request).rejects.toMatchObject({ code: 'ERR_PROXY_TUNNEL_TIMEOUT', message: 'the proxy did not open a tunnel in time' });
    expect(proxy.requests.map(({ target }) => target)).toEqual(['prod.example.test:443']);
    await agent.close();
  });
});
