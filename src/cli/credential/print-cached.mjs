// @ts-check
// Prints the cached credential of `purser credential`. The launcher calls this module before it loads anything else, because kubectl runs
// the plugin for every command. Plain JavaScript, like the launcher.

import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { CachedCredential, resolveCacheFolder } from './cache.mjs';
import { identifyProcess, readStartTime } from './lock.mjs';

/**
 * @typedef {object} CredentialRequest Arguments and options that determine a credential. Undefined selects the default of an option.
 * @property {string} cluster
 * @property {string} account Service account on the cluster, as NAMESPACE/NAME.
 * @property {readonly string[]} audience
 * @property {string | undefined} duration
 * @property {string | undefined} kubeconfig
 * @property {string | undefined} context
 * @property {string | undefined} facade
 * @property {string | undefined} facadeCa
 * @property {string | undefined} facadePath
 * @property {string | undefined} serviceAccount
 * @property {string | undefined} purserNamespace
 */
/**
 * @typedef {object} CacheHost The process that runs the command.
 * @property {Readonly<Record<string, string | undefined>>} env
 * @property {() => number} now Returns the time in epoch milliseconds.
 * @property {(text: string) => void} print
 * @property {(text: string) => void} warn Receives warnings. The launcher discards them if it runs the full command, which repeats them.
 * @property {(text: string) => void} notify Receives lines to print immediately.
 * @property {(ms: number) => void} [wait] Waits; by default, blocks the process.
 */
/**
 * @typedef {object} CacheResult
 * @property {number | undefined} code Exit code; undefined if the caller has to request a credential.
 * @property {string} [client] Process that receives the credential; empty if unknown, absent if the caller holds no lock.
 * @property {CachedCredential | undefined} cache Cache whose lock the caller holds and must release; undefined if it holds none.
 */

/** Options that determine a credential, with their environment variables; empty for an option without a variable. */
const OPTIONS = {
  duration: '',
  kubeconfig: '',
  context: '',
  facade: 'PURSER_FACADE',
  'facade-ca': 'PURSER_FACADE_CA',
  'facade-path': 'PURSER_FACADE_PATH',
  'service-account': '',
  'purser-namespace': 'PURSER_NAMESPACE',
};
/** Version of the cache format. It is part of each request, so that every version has its own files. */
const FORMAT = 1;
/** Supported versions of ExecCredential. */
const VERSIONS = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'];
/** Maximum time between the reported and the actual expiry, in milliseconds. */
const MAX_MARGIN_MS = 60000;
/** Interval between attempts to take the lock, in milliseconds. */
const POLL_MS = 20;
/** Waiting time after which a line reports that another process holds the lock, in milliseconds. */
const NOTICE_MS = 3000;
/** Maximum time to wait for the request of another process, in milliseconds. */
const MAX_WAIT_MS = 180000;

/**
 * Parses arguments in the form that `purser kubeconfig` writes. Returns undefined for other arguments, which the full command parses.
 * @param {readonly string[]} args Arguments after `credential`.
 * @param {Readonly<Record<string, string | undefined>>} env
 * @returns {CredentialRequest | undefined}
 */
function parseCredentialArguments(args, env) {
  const names = args.filter((arg) => !arg.startsWith('-'));
  /** @type {Record<string, string>} */
  const values = {};
  const audience = [];
  for (const arg of args) {
    if (!arg.startsWith('-')) continue;
    const [, name = '', value = ''] = /^--([a-z-]+)=(.+)$/.exec(arg) || [];
    if (name === 'audience') audience.push(value);
    else if (Object.prototype.hasOwnProperty.call(OPTIONS, name)) values[name] = value;
    else return undefined;
  }
  const [cluster, account, ...rest] = names;
  if (cluster === undefined || account === undefined || rest.length > 0) return undefined;
  /** @param {keyof typeof OPTIONS} name */
  const valueOf = (name) => values[name] || (OPTIONS[name] && env[OPTIONS[name]]) || undefined;
  return {
    cluster,
    account,
    audience,
    duration: valueOf('duration'),
    kubeconfig: valueOf('kubeconfig'),
    context: valueOf('context'),
    facade: valueOf('facade'),
    facadeCa: valueOf('facade-ca'),
    facadePath: valueOf('facade-path'),
    serviceAccount: valueOf('service-account'),
    purserNamespace: valueOf('purser-namespace'),
  };
}

/**
 * Prints the cached credential for arguments in the form that `purser kubeconfig` writes. Returns the exit code; undefined if the full
 * command has to run. In that case, this process may hold the lock of the request.
 * @param {readonly string[]} args Arguments after `credential`.
 * @param {CacheHost} host
 */
export function printForArguments(args, host) {
  const request = parseCredentialArguments(args, host.env);
  return request === undefined ? undefined : printFromCache(request, host, false).code;
}

/**
 * Prints the cached credential. If the cache has none to print, takes the lock of the request, or waits for the process that holds the
 * lock.
 * @param {CredentialRequest} request
 * @param {CacheHost} host
 * @param {boolean} isForced True to ignore the cached credential.
 * @returns {CacheResult}
 */
export function printFromCache(request, host, isForced) {
  if (VERSIONS.indexOf(parseRequestedVersion(host.env)) < 0) {
    host.warn(
      `purser: KUBERNETES_EXEC_INFO is not valid or requests an unsupported version. In the kubeconfig, set the apiVersion of exec to ${VERSIONS[0]}\n`,
    );
    return { code: 1, cache: undefined };
  }
  const cache = new CachedCredential(resolveCacheFolder(host.env), encodeRequest(request, host.env), host.warn, host.notify);
  try {
    if (cache.open()) return readOrLock(cache, host, isForced);
  } catch (error) {
    host.warn(`purser: not using the cache ${cache.folder}: ${formatCacheError(/** @type {NodeJS.ErrnoException} */ (error))}\n`);
  }
  return { code: undefined, cache: undefined };
}

/**
 * Returns the cause and the remedy of an error. The texts of errors without a code already contain a remedy.
 * @param {NodeJS.ErrnoException} error
 */
function formatCacheError({ code, message }) {
  return code === undefined ? message : `${message}. Check the free disk space and the permissions of the folder`;
}

/**
 * Returns the ExecCredential of a cached credential in the version that the client requests.
 * @param {Pick<import('./cache.mjs').Entry, 'token' | 'issuedAt' | 'expiresAt'>} entry
 * @param {Readonly<Record<string, string | undefined>>} env
 */
export function encodeExecCredential({ token, issuedAt, expiresAt }, env) {
  // A client replaces the credential at the reported time, not earlier, so this time must be before the actual expiry.
  const margin = Math.min(MAX_MARGIN_MS, (expiresAt - issuedAt) / 10);
  const expirationTimestamp = `${new Date(expiresAt - margin).toISOString().slice(0, 19)}Z`;
  const credential = {
    apiVersion: parseRequestedVersion(env),
    kind: 'ExecCredential',
    spec: { interactive: false },
    status: { expirationTimestamp, token },
  };
  return `${JSON.stringify(credential)}\n`;
}

/**
 * Returns a request as JSON, with absolute paths.
 * @param {CredentialRequest} request
 * @param {Readonly<Record<string, string | undefined>>} env
 */
function encodeRequest(request, env) {
  const paths = request.kubeconfig || env['KUBECONFIG'] || join(env['HOME'] || homedir(), '.kube', 'config');
  const files = paths.split(delimiter).map((path) => resolve(path));
  const parts = [
    FORMAT,
    request.cluster,
    request.account,
    request.audience,
    request.duration,
    files,
    request.context,
    request.facade,
    request.facadeCa && resolve(request.facadeCa),
    request.facadePath,
    request.serviceAccount,
    request.purserNamespace,
  ];
  return JSON.stringify(parts);
}

/**
 * @param {CachedCredential} cache
 * @param {CacheHost} host
 * @param {boolean} isForced
 * @returns {CacheResult}
 */
function readOrLock(cache, host, isForced) {
  const { env, now, print, warn } = host;
  const startedAt = now();
  const waitForLock = createWait(cache, host);
  // Without KUBERNETES_EXEC_INFO, the caller may be a script, whose repeated calls do not mean that the cluster rejected the credential.
  const client = env['KUBERNETES_EXEC_INFO'] ? cache.lock.readLauncherClient() || identifyProcess(process.ppid) : '';
  const owner = { pid: process.pid, startedAt: readStartTime(process.pid), client };
  const read = () => (isForced ? undefined : cache.read(now()));
  for (;;) {
    const entry = read();
    if (entry !== undefined && cache.recordClient(client, entry, now())) {
      print(encodeExecCredential(entry, env));
      return { code: 0, cache: undefined };
    }
    const failure = cache.readFailure(startedAt, now());
    if (failure !== undefined) {
      warn(`purser: ${toVisibleLine(failure)}\n`);
      return { code: 1, cache: undefined };
    }
    if (cache.lock.take(owner, now())) {
      const latest = read();
      const isReplaced = latest !== undefined && (entry === undefined || latest.issuedAt !== entry.issuedAt);
      if (!isReplaced) return { code: undefined, cache, client };
      cache.lock.release();
    } else if (!waitForLock()) return { code: undefined, cache: undefined };
  }
}

/**
 * Returns a function that waits for one poll interval, and reports a long wait once. The function returns false after the maximum time.
 * @param {CachedCredential} cache
 * @param {CacheHost} host
 */
function createWait(cache, { notify, wait = block }) {
  let waitedMs = 0;
  return () => {
    if (waitedMs > MAX_WAIT_MS) return false;
    wait(POLL_MS);
    waitedMs += POLL_MS;
    if (waitedMs === NOTICE_MS) notify(`purser: waiting for another process, which requests the same token and holds ${cache.lock.file}\n`);
    return true;
  };
}

/**
 * Returns the version of ExecCredential that the client requests; v1 if it requests none, empty if KUBERNETES_EXEC_INFO is invalid.
 * @param {Readonly<Record<string, string | undefined>>} env
 */
function parseRequestedVersion(env) {
  try {
    return String(JSON.parse(env['KUBERNETES_EXEC_INFO'] || '{}').apiVersion || VERSIONS[0]);
  } catch {
    return '';
  }
}

/**
 * Returns one line without control characters, so that no façade can control the terminal.
 * @param {string} text
 */
function toVisibleLine(text) {
  return text.replace(/[\p{C}\s]+/gu, ' ').trim();
}

/**
 * Blocks the process for a time in milliseconds. The process has no other work.
 * @param {number} ms
 */
function block(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
