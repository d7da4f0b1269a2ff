import { afterEach, describe, expect, it } from '@jest/globals';
import { bytesOf, FacadeWorld } from './facade-world.ts';
import { statusOf } from './raw-connection.ts';

let world: FacadeWorld;
afterEach(() => world.close());

const get = (path: string, headers: Readonly<Record<string, string>> = {}) => world.request('GET', path, { headers });

describe('web UI of the façade', () => {
  it('serves its files to any client, without a request to the hub', async () => {
    world = await FacadeWorld.start({ settings: { facadeUi: true } });
    const page = await get('/ui/');
    expect(page).toMatchObject({
      status: 200,
      headers: { 'content-type': 'text/html; charset=utf-8', 'x-content-type-options': 'nosniff' },
    });
    expect(page.body).toContain('data-login="token"');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
    expect((await get('/ui/page/main.js')).status).toBe(200);
    expect(world.hub.requests).toEqual([]);
  });

  it('sends no body for a file that the browser has', async () => {
    world = await FacadeWorld.start({ settings: { facadeUi: true } });
    const { headers } = await get('/ui/static/style.css');
    const again = await get('/ui/static/style.css', { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.body]).toEqual([304, '']);
  });

  it.each([
    ['GET', '/ui', 308],
    ['POST', '/ui/', 405],
    ['DELETE', '/ui/page/main.js', 405],
    ['GET', '/ui/nothing.js', 404],
    ['GET', '/ui/..%2f..%2fpackage.json', 404],
    ['GET', '/ui/page/../../assets.ts', 404],
    ['GET', '/ui2/', 401],
    ['GET', '/auth/v1/clusters', 401],
  ])('responds to %s %s with %d', async (method, path, status) => {
    world = await FacadeWorld.start({ settings: { facadeUi: true } });
    expect((await world.request(method, path)).status).toBe(status);
    expect(world.hub.requests).toEqual([]);
  });

  it('rejects HEAD with 405', async () => {
    world = await FacadeWorld.start({ settings: { facadeUi: true } });
    const request = bytesOf({ method: 'HEAD', target: '/ui/', lines: ['Host: facade.test'], body: '' });
    expect(statusOf(await world.raw(request, { isEnough: (so) => so.includes('\r\n\r\n') }))).toBe(405);
  });

  it('records all files under one route', async () => {
    world = await FacadeWorld.start({ settings: { facadeUi: true } });
    await get('/ui/');
    await get('/ui/page/main.js');
    const labels = [...(await world.scrape()).values()].flatMap(({ samples }) => [...samples.keys()]).join();
    expect(new Set(labels.match(/\/ui[^"]*/g))).toEqual(new Set(['/ui/*']));
  });

  it('does not serve the page if it is disabled', async () => {
    world = await FacadeWorld.start({ settings: { facadeUi: false } });
    expect((await get('/ui/')).status).toBe(401);
  });
});
