// `purser credential`: requests a token from the façade unless the cache has one.

import { isAbsolute, resolve } from 'node:path';
import { SystemAuthorities } from '../../api/names.ts';
import { redactTokens } from '../../std/sensitive.ts';
import { parseTimestamp } from '../../std/timestamp.ts';
import { computeGrantedLifetimeMs } from '../../targets/policy/grant.ts';
import { parseTokenClaims } from '../../targets/policy/token-claims.ts';
import { CommandError, type CommandHost } from '../command.ts';
import { Connections } from '../connection.ts';
import { FacadeClient, type IssuedToken } from '../facade/client.ts';
import { requestWantedToken, type WantedToken } from '../token/token.ts';
import { toVisibleLine } from '../visible-text.ts';
import { type CachedCredential, type Entry, NO_HOME, readFileVersion, removeAll, removeExpired, resolveCacheFolder } from './cache.mjs';
import { type CredentialRequest, encodeExecCredential, printFromCache } from './print-cached.mjs';

/** Prints an ExecCredential. If several processes need the same credential, one sends the request, and the others wait for its result. */
export async function printCredential(wanted: WantedToken & { readonly forceRefresh?: true }, host: CommandHost): Promise<void> {
  const { env, clock } = host;
  const warn = host.warn.bind(host);
  const cacheHost = { env, now: () => clock.now(), print: host.print.bind(host), warn, notify: warn };
  const { code, cache, client = '' } = printFromCache(toRequest(wanted), cacheHost, wanted.forceRefresh === true);
  if (code === 0) return;
  // The cause has already been printed.
  if (code !== undefined) throw new CommandError('', code);
  /** Changes the cache, if there is one. A failure only prints a warning: the credential is valid even if it is not cached. */
  const change = (action: (opened: CachedCredential) => void) => {
    try {
      if (cache !== undefined) action(cache);
    } catch (error) {
      host.warn(`purser: cannot write to the cache ${cache?.folder}: ${(error as Error).message}. Check the folder and its permissions\n`);
    }
  };
  try {
    const entry = await requestEntry(wanted, host);
    change((opened) => {
      opened.write(entry);
      opened.recordClient(client, entry, clock.now());
      removeExpired(opened.folder, clock.now());
    });
    host.print(encodeExecCredential(entry, env));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!host.signal.aborted) change((opened) => opened.writeFailure(toVisibleLine(redactTokens(message)), clock.now()));
    throw error;
  } finally {
    change((opened) => opened.lock.release());
  }
}

/** Removes all cached credentials. */
export function removeCredentials(host: CommandHost): void {
  const folder = resolveCacheFolder(host.env);
  if (!isAbsolute(folder)) throw new CommandError(`cannot find the cache: ${NO_HOME}`);
  const removed = removeAll(folder);
  host.print(`Removed ${removed} cached ${removed === 1 ? 'credential' : 'credentials'} from ${folder}.\n`);
}

function toRequest(wanted: WantedToken): CredentialRequest {
  const { cluster, account, audience = [], duration, kubeconfig, context } = wanted;
  const { facade, facadeCa, facadePath, serviceAccount, purserNamespace } = wanted;
  const caller = { kubeconfig, context, serviceAccount };
  return { cluster, account, audience, duration, ...caller, facade, facadeCa, facadePath, purserNamespace };
}

async function requestEntry(wanted: WantedToken, host: CommandHost): Promise<Omit<Entry, 'request'>> {
  await using connections = new Connections(host, wanted.kubeconfig);
  const ca = wanted.facadeCa === undefined || wanted.facadeCa === SystemAuthorities ? [] : [resolve(wanted.facadeCa)];
  const files = [...(await connections.findCredentialFiles(wanted.context)), ...ca];
  // Read before the request, so that a file that changes during the request is noticed.
  const inputs = files.map((path) => ({ path, version: readFileVersion(path) }));
  await using facade = await FacadeClient.open(wanted, host);
  return { ...toEntry(await requestWantedToken(facade, wanted)), inputs };
}

/**
 * Returns a token with its expiry by this machine's clock, which may differ from the cluster's clock. Throws a CommandError if the token
 * has expired or its expiry is invalid.
 */
export function toEntry({ request, sentAt, serverAt }: IssuedToken): Omit<Entry, 'inputs' | 'request'> {
  const { token = '', expirationTimestamp } = request.status ?? {};
  const claims = parseTokenClaims(token);
  const lifetimeMs = computeGrantedLifetimeMs({ expirationTimestamp, ...(claims !== undefined && { claims }) }, serverAt);
  if (parseTimestamp(expirationTimestamp) === undefined || lifetimeMs <= 0)
    throw new CommandError(
      'the façade returned a token that has expired or has no valid expiry. Check the clocks of the hub and of the cluster',
    );
  return { token, issuedAt: sentAt, expiresAt: sentAt + lifetimeMs };
}
