// The files of the web UI, in memory: page, model, and the packages that the page uses. Imports of packages become relative paths, because
// the content security policy forbids an inline import map.

import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { extname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { pathNotFound } from '../kubernetes/status.ts';

/** A file of the web UI. */
interface Asset {
  readonly contentType: string;
  readonly etag: string;
  /** Contents by content coding. */
  readonly bodies: Readonly<Record<Coding, Buffer>>;
}

type Coding = 'br' | 'gzip' | 'identity';

/** Response to a request for a file: the file, status 304 without a body if the file has not changed, or a redirect. */
export interface AssetReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Headers of a request for an asset. */
export interface AssetRequest {
  readonly acceptEncoding: string | undefined;
  readonly ifNoneMatch: string | undefined;
}

export interface AssetOptions {
  /** True for a page with a login form for a bearer token; false if the server adds the credential. */
  readonly needsLogin: boolean;
}

/** Headers of every AssetReply. The page can load files and call APIs only at its own origin. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Packages that the page imports, and the paths at which they are served. */
const PACKAGES: Readonly<Record<string, string>> = {
  htm: 'vendor/htm.js',
  preact: 'vendor/preact.js',
  'preact/hooks': 'vendor/hooks.js',
};

/** Path of the HTML file of the page. The page is served at the empty path. */
const PAGE = 'static/index.html';

/** The files of the web UI, by path. */
export class Assets {
  readonly #assets: ReadonlyMap<string, Asset>;

  private constructor(assets: ReadonlyMap<string, Asset>) {
    this.#assets = assets;
  }

  /** Reads and compresses all files. */
  static async load({ needsLogin }: AssetOptions): Promise<Assets> {
    const modules = new Map(
      (await Promise.all([...(await readModules('page')), ...(await readModules('model')), ...readPackages()])).toSorted(([a], [b]) =>
        a < b ? -1 : 1,
      ),
    );
    const statics = await readStaticFiles();
    const preloads = [...modules.keys()].map((path) => `<link rel="modulepreload" href="${path}">`).join('\n    ');
    const page = (statics.get(PAGE) ?? '').replace('<!-- modules -->', preloads).replace('LOGIN', needsLogin ? 'token' : 'none');
    statics.delete(PAGE);
    const assets = new Map<string, Asset>();
    // Compresses one file after another, because each compression uses megabytes of memory.
    for (const [path, text] of [...modules, ...statics, ['', page] as const]) assets.set(path, await toAsset(path, text));
    return new Assets(assets);
  }

  /** Total size of all files after Brotli compression, in bytes. */
  get compressedBytes(): number {
    return [...this.#assets.values()].reduce((sum, { bodies }) => sum + bodies.br.length, 0);
  }

  /** Returns the response for a path relative to the page. Throws a StatusError with code 404 for an unknown path. */
  reply(path: string, { acceptEncoding = '', ifNoneMatch = '' }: AssetRequest): AssetReply {
    const asset = this.#assets.get(path);
    if (asset === undefined) throw pathNotFound();
    const { contentType, etag, bodies } = asset;
    const headers = { ...SECURITY_HEADERS, etag, vary: 'Accept-Encoding', 'cache-control': 'no-cache' };
    if (ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)) return { status: 304, headers, body: EMPTY_BODY };
    const coding = chooseCoding(acceptEncoding);
    const encoded = coding === 'identity' ? {} : { 'content-encoding': coding };
    return { status: 200, headers: { ...headers, ...encoded, 'content-type': contentType }, body: bodies[coding] };
  }
}

const EMPTY_BODY = Buffer.alloc(0);

/** Returns a redirect to the path of the page with a trailing slash. Without the slash, relative URLs in the page would be wrong. */
export function redirectTo(location: string): AssetReply {
  return { status: 308, headers: { ...SECURITY_HEADERS, location }, body: EMPTY_BODY };
}

function chooseCoding(acceptEncoding: string): Coding {
  const accepted = new Set(acceptEncoding.split(',').map((coding) => coding.trim()));
  if (accepted.has('br')) return 'br';
  return accepted.has('gzip') ? 'gzip' : 'identity';
}

/** Extension of the modules: a checkout has sources, the package and the image have compiled files. */
const EXTENSION = extname(import.meta.filename);

async function readModules(folder: string): Promise<readonly Promise<readonly [string, string]>[]> {
  const names = (await readdir(join(import.meta.dirname, folder))).filter((name) => name.endsWith(EXTENSION));
  return names.map(async (name): Promise<readonly [string, string]> => {
    const text = await readFile(join(import.meta.dirname, folder, name), 'utf8');
    const path = `${folder}/${name.slice(0, -EXTENSION.length)}.js`;
    return [path, withRelativeSpecifiers(EXTENSION === '.ts' ? stripTypeScriptTypes(text) : text, path)];
  });
}

function readPackages(): readonly Promise<readonly [string, string]>[] {
  return Object.entries(PACKAGES).map(async ([name, path]): Promise<readonly [string, string]> => {
    const text = await readFile(fileURLToPath(import.meta.resolve(name)), 'utf8');
    return [path, withRelativeSpecifiers(text, path)];
  });
}

async function readStaticFiles(): Promise<Map<string, string>> {
  const folder = join(import.meta.dirname, 'page', 'static');
  const names = await readdir(folder);
  return new Map(await Promise.all(names.map(async (name) => [`static/${name}`, await readFile(join(folder, name), 'utf8')] as const)));
}

const SPECIFIER = /(\bfrom\s*|\bimport\s*)(["'])([^"']+)\2/g;
const SOURCE_MAP = /\n?\/\/# sourceMappingURL=.*/g;

/** Returns a module whose imports name served paths. Throws for a package that is not served. */
export function withRelativeSpecifiers(text: string, path: string): string {
  return text.replaceAll(SOURCE_MAP, '').replaceAll(SPECIFIER, (_, keyword: string, quote: string, specifier: string) => {
    if (specifier.startsWith('.')) return `${keyword}${quote}${specifier.replace(/\.ts$/, '.js')}${quote}`;
    const target = Object.hasOwn(PACKAGES, specifier) ? PACKAGES[specifier] : undefined;
    if (target === undefined) throw new Error(`the web UI serves no package ${specifier}, which ${path} imports`);
    const relative = posix.relative(posix.dirname(path), target);
    return `${keyword}${quote}${relative.startsWith('.') ? relative : `./${relative}`}${quote}`;
  });
}

async function toAsset(path: string, text: string): Promise<Asset> {
  const identity = Buffer.from(text);
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
    [constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
  };
  const br = await promisify(brotliCompress)(identity, { params });
  const gz = await promisify(gzip)(identity);
  return {
    contentType: CONTENT_TYPES[extname(path === '' ? PAGE : path)] ?? 'application/octet-stream',
    etag: `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
    bodies: { identity, br, gzip: gz },
  };
}

/** Quality of Brotli compression. With quality 11, files are 5% smaller, but their compression at each start takes thirty times as long. */
const BROTLI_QUALITY = 9;
/** Binary logarithm of Brotli's window size, in bytes: 64 KiB, more than the size of each file. */
const BROTLI_WINDOW = 16;
