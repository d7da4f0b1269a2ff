import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { Assets, withRelativeSpecifiers } from '../../src/ui/assets.ts';

const assets = await Assets.load({ needsLogin: true });
const NONE = { acceptEncoding: undefined, ifNoneMatch: undefined };
const bodyOf = (path: string) => assets.reply(path, NONE).body.toString();

/** Returns the paths of a module and of all modules that it imports, directly or indirectly. */
function findReachable(path: string, seen = new Set<string>()): ReadonlySet<string> {
  if (seen.has(path)) return seen;
  seen.add(path);
  for (const [, specifier = ''] of bodyOf(path).matchAll(/(?:from|import)\s*["']([^"']+)["']/g))
    findReachable(new URL(specifier, `http://x/${path}`).pathname.slice(1), seen);
  return seen;
}

describe('Assets', () => {
  it('preloads the modules of the page, and serves every module that these import', () => {
    const page = bodyOf('');
    const preloads = [...page.matchAll(/rel="modulepreload" href="([^"]+)"/g)].map(([, path = '']) => path);
    expect(preloads).toEqual(expect.arrayContaining([...findReachable('page/main.js')]));
    expect(preloads.length).toBeGreaterThan(20);
  });

  it('serves a page without inline code, inline styles and URLs of other origins', () => {
    const page = bodyOf('');
    expect(page).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=|https?:|\/\//);
  });

  it('serves modules without eval, dynamic imports and dangerouslySetInnerHTML', () => {
    for (const path of findReachable('page/main.js'))
      expect(bodyOf(path)).not.toMatch(/\beval\(|new Function\(|dangerouslySetInnerHTML=|import\(/);
  });

  it('serves at most 60 kB after Brotli compression', () => {
    expect(assets.compressedBytes).toBeLessThanOrEqual(60_000);
    expect(assets.compressedBytes).toBeGreaterThan(10_000);
  });

  it('uses a compression that the browser accepts', () => {
    const decoded = (acceptEncoding: string) => assets.reply('static/style.css', { ...NONE, acceptEncoding });
    expect(decoded('gzip, deflate, br, zstd').headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' });
    expect(String(brotliDecompressSync(decoded('br').body))).toBe(bodyOf('static/style.css'));
    expect(String(gunzipSync(decoded('gzip').body))).toBe(bodyOf('static/style.css'));
    expect(decoded('identity').headers).not.toHaveProperty('content-encoding');
  });

  it('returns 304 for a file that the browser has', () => {
    const { etag = '' } = assets.reply('', NONE).headers;
    expect(assets.reply('', { ...NONE, ifNoneMatch: `"other", W/${etag}` })).toMatchObject({ status: 304, body: Buffer.alloc(0) });
    expect(assets.reply('', { ...NONE, ifNoneMatch: '"other"' }).status).toBe(200);
  });

  it('serves a page with a login and a page without a login', async () => {
    expect(bodyOf('')).toContain('data-login="token"');
    const other = await Assets.load({ needsLogin: false });
    expect(other.reply('', NONE).body.toString()).toContain('data-login="none"');
  });

  it.each([
    ['nothing.js'],
    ['../assets.ts'],
    ['page/main.ts'],
    ['static/'],
    ['static/index.html'],
    ['constructor'],
    ['page/tsconfig.json'],
  ])('does not serve %s', (path) => {
    expect(() => assets.reply(path, NONE)).toThrow('the server could not find the requested resource');
  });

  it.each([[''], ['page/main.js'], ['static/style.css'], ['static/icon.svg'], ['vendor/preact.js']])(
    'sends security headers with %p',
    (path) => {
      expect(assets.reply(path, NONE).headers).toMatchObject({
        'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self';") as unknown,
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
    },
  );
});

describe('withRelativeSpecifiers', () => {
  it.each([
    ["import { h } from 'preact';", "import { h } from '../vendor/preact.js';"],
    ['import{options as n}from"preact";', 'import{options as n}from"../vendor/preact.js";'],
    ["export { x } from './x.ts';", "export { x } from './x.js';"],
    ["import './side.ts';", "import './side.js';"],
    ['x();\n//# sourceMappingURL=x.js.map', 'x();'],
  ])('rewrites %s', (text, rewritten) => {
    expect(withRelativeSpecifiers(text, 'page/x.js')).toBe(rewritten);
  });

  it('throws for a package that is not served', () => {
    expect(() => withRelativeSpecifiers("import 'rxjs';", 'page/x.js')).toThrow(
      'the web UI serves no package rxjs, which page/x.js imports',
    );
  });
});
