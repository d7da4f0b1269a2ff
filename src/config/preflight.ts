// Checks of the environment and of certificate files before Purser starts.

import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

/** Throws a StartError if the certificate or key file cannot be read or parsed, or if the key does not match the certificate. */
export async function checkCertificateFiles({
  facadeTlsCert,
  facadeTlsKey,
}: Pick<Config, 'facadeTlsCert' | 'facadeTlsKey'>): Promise<void> {
  if (facadeTlsCert === undefined || facadeTlsKey === undefined) return;
  try {
    const [cert, key] = await Promise.all([readFile(facadeTlsCert), readFile(facadeTlsKey)]);
    createSecureContext({ cert, key });
  } catch (cause) {
    const { message } = cause as Error;
    throw new StartError(
      `cannot load the certificate or its key: ${message}. Check the files that --facade-tls-cert and --facade-tls-key name`,
      { cause },
    );
  }
}

/** Throws a StartError for variables that disable certificate verification or expose tokens to a debugger. */
export function checkEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    throw new StartError('NODE_TLS_REJECT_UNAUTHORIZED=0 disables certificate verification. Unset NODE_TLS_REJECT_UNAUTHORIZED');
  }
  if (/--inspect/.test(env['NODE_OPTIONS'] ?? '')) {
    throw new StartError('NODE_OPTIONS with --inspect exposes all tokens to a debugger. Remove --inspect from NODE_OPTIONS');
  }
}
