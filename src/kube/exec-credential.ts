// Credential plugins of kubeconfigs (client.authentication.k8s.io).

import { execFile } from 'node:child_process';
import type { Cluster } from '@kubernetes/client-node';
import { omitUndefined } from '../std/omit-undefined.ts';

/** Credential that a credential plugin returned. */
export interface ExecCredential {
  readonly token?: string;
  readonly clientCertificateData?: string;
  readonly clientKeyData?: string;
  /** Expiry in epoch milliseconds; undefined if there is none. */
  readonly expiresAt?: number;
}

/** The `exec` part of a kubeconfig user. */
export interface ExecConfig {
  readonly apiVersion?: string;
  readonly command: string;
  readonly args?: readonly string[] | null;
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null;
  readonly provideClusterInfo?: boolean;
}

export type Env = Readonly<Record<string, string | undefined>>;

/** Runs the plugin with `env` and returns its credential. Errors never contain the output of the plugin. */
export async function runExecPlugin(exec: ExecConfig, cluster: Cluster, env: Env): Promise<ExecCredential> {
  const apiVersion = exec.apiVersion ?? 'client.authentication.k8s.io/v1';
  const info = {
    kind: 'ExecCredential',
    apiVersion,
    spec: omitUndefined({ interactive: false, cluster: exec.provideClusterInfo === true ? toClusterInfo(cluster) : undefined }),
  };
  const own = Object.fromEntries((exec.env ?? []).map(({ name, value }) => [name, value]));
  const stdout = await run(exec, { ...env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) });
  return parseCredential(stdout, exec.command);
}

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 1 << 20;

function run(exec: ExecConfig, env: Env): Promise<string> {
  const options = { env, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES, windowsHide: true };
  return new Promise((resolve, reject) => {
    const plugin = execFile(exec.command, [...(exec.args ?? [])], options, (error, stdout) => {
      // The error of execFile contains arguments and output, which may be secret.
      if (error === null) resolve(stdout);
      else reject(new Error(`credential plugin ${exec.command} failed: ${error.code ?? error.signal ?? 'unknown'}`));
    });
    // Closed stdin makes an interactive plugin fail instead of waiting.
    plugin.stdin?.on('error', () => {}).end();
  });
}

function parseCredential(stdout: string, command: string): ExecCredential {
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = parseStatus(stdout, command);
  const expiresAt = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN;
  if (typeof token !== 'string' && typeof clientCertificateData !== 'string') {
    throw new Error(`credential plugin ${command} returned neither a token nor a certificate`);
  }
  return omitUndefined<ExecCredential>({
    token: textOf(token),
    clientCertificateData: textOf(clientCertificateData),
    clientKeyData: textOf(clientKeyData),
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function parseStatus(stdout: string, command: string): Readonly<Record<string, unknown>> {
  try {
    const credential: { readonly status?: Readonly<Record<string, unknown>> } | null = JSON.parse(stdout);
    return credential?.status ?? {};
  } catch {
    throw new Error(`credential plugin ${command} did not print an ExecCredential`);
  }
}

function toClusterInfo(cluster: Cluster): object {
  return omitUndefined({
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName || undefined,
    'insecure-skip-tls-verify': cluster.skipTLSVerify || undefined,
    'certificate-authority-data': cluster.caData || undefined,
    'proxy-url': cluster.proxyUrl || undefined,
    config: null,
  });
}
