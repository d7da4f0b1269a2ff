// The server of `purser ui` on the loopback address. It serves the files of the page, and adds a credential to the page's list and watch
// requests before it forwards them.

import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { TransportError } from '../../kube/transport-error.ts';
import { StatusError } from '../../kubernetes/status.ts';
import { listen } from '../../std/listening.ts';
import { redactTokens } from '../../std/sensitive.ts';
import { Assets, redirectTo, SECURITY_HEADERS } from '../../ui/assets.ts';
import { CommandError, type CommandHost } from '../command.ts';
import { FacadeClient } from '../facade/client.ts';
import { admit, type OwnServer } from './guard.ts';
import { createRedirectFile, openBrowser } from './open-browser.ts';
import type { UiOptions } from './options.ts';
import { Upstream } from './upstream.ts';

const LOOPBACK = '127.0.0.1';
/** Length of the secret in the address, in bytes. */
const SECRET_BYTES = 24;
/** Maximum number of open connections. */
const MAX_CONNECTIONS = 256;
/** Timeouts of requests, in milliseconds: clients without the secret must not occupy all connections. */
const TIMEOUTS = { headersTimeout: 4_000, requestTimeout: 4_000, connectionsCheckingInterval: 250 };

/**
 * Serves the page until the command is interrupted, and opens a browser if requested. Throws a CommandError if the façade or the port
 * cannot be used.
 */
export async function servePage(options: UiOptions, host: CommandHost): Promise<void> {
  await using closing = new AsyncDisposableStack();
  const upstream = closing.use(new Upstream(() => FacadeClient.open(options, host)));
  const [assets] = await Promise.all([Assets.load({ needsLogin: false }), upstream.connect()]);
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const own = { secret, authority: '' };
  const server = createServer(TIMEOUTS, (request, response) => {
    serve(request, response, { own, assets, upstream }).catch((error: unknown) => sendError(response, error));
  });
  server.maxConnections = MAX_CONNECTIONS;
  const listening = await listen(server, { port: options.port, host: LOOPBACK, clock: host.clock, report: () => {} }).catch(
    (error: unknown) => {
      throw new CommandError(
        `cannot listen on port ${options.port}: ${(error as Error).message}. Set --port to a free port, or to 0 for any free port`,
      );
    },
  );
  closing.defer(() => listening.close(0));
  own.authority = `${LOOPBACK}:${listening.port}`;
  const url = `${listening.url}/${secret}/ui/`;
  host.print(`${url}\n`);
  if (options.open) {
    const redirect = closing.use(await createRedirectFile(url));
    const missing = await openBrowser(redirect.file, host.env);
    if (missing !== undefined)
      host.warn(`purser: cannot start ${missing}. Open the address above, or set BROWSER to the command of a browser\n`);
  }
  host.warn('The page shows the objects that you, or the service account in --service-account, may see. Press Ctrl-C to stop.\n');
  await waitForAbort(host.signal);
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

interface Serving {
  readonly own: OwnServer;
  readonly assets: Assets;
  readonly upstream: Upstream;
}

async function serve(request: IncomingMessage, response: ServerResponse, { own, assets, upstream }: Serving): Promise<void> {
  const admission = admit({ method: request.method ?? '', url: request.url ?? '', headers: request.headers }, own);
  if ('status' in admission) return sendStatus(response, admission.status, admission.cause, { connection: 'close' });
  const { path, query } = admission;
  if (path === '/ui') return send(response, redirectTo(`/${own.secret}/ui/`));
  if (path.startsWith('/ui/')) return send(response, assets.reply(path.slice('/ui/'.length), toAssetRequest(request)));
  await forward(path, query, response, upstream);
}

/** Sends an error to the page as a Status. Aborts the response if it has already begun. */
function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  if (error instanceof StatusError) return sendStatus(response, error.code, error.message);
  const isExplained = error instanceof TransportError || error instanceof CommandError;
  sendStatus(response, 502, redactTokens(isExplained ? error.message : String(error)));
}

function toAssetRequest({ headers }: IncomingMessage) {
  const [acceptEncoding, ifNoneMatch] = [headers['accept-encoding'], headers['if-none-match']];
  return { acceptEncoding: acceptEncoding?.toString(), ifNoneMatch };
}

/** Forwards a list or watch request, and streams the response as it arrives. */
async function forward(path: string, query: Readonly<Record<string, string>>, response: ServerResponse, upstream: Upstream): Promise<void> {
  const ending = new AbortController();
  response.once('close', () => ending.abort());
  const result = await upstream.read(path, query, ending.signal);
  if (result === undefined) return sendStatus(response, 404, 'Not found.');
  if (result.type === 'rejected') {
    const { status, headers, body } = result.response;
    const retryAfter = headers['retry-after'];
    return send(response, {
      status,
      headers: { ...API_HEADERS, ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }) },
      body: Buffer.from(body),
    });
  }
  response.writeHead(200, API_HEADERS);
  response.flushHeaders();
  await pipeline(result.chunks, response);
}

const API_HEADERS = { ...SECURITY_HEADERS, 'content-type': 'application/json', 'cache-control': 'no-store' };

function sendStatus(response: ServerResponse, code: number, message: string, more: Readonly<Record<string, string>> = {}): void {
  const body = Buffer.from(JSON.stringify({ apiVersion: 'v1', kind: 'Status', status: 'Failure', code, message }));
  send(response, { status: code, headers: { ...API_HEADERS, ...more }, body });
}

function send(
  response: ServerResponse,
  { status, headers, body }: { status: number; headers: Readonly<Record<string, string>>; body: Buffer },
): void {
  response.writeHead(status, headers);
  response.end(body);
}
