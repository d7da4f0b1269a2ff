// The files with the certificate of the façade, looked at before anything starts: it serves only once it knows the hub.

import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

/** Throws a StartError where files are named that cannot be read, or that do not belong together. */
export async function checkCertificateFiles({
  facadeTlsCert,
  facadeTlsKey,
}: Pick<Config, 'facadeTlsCert' | 'facadeTlsKey'>): Promise<void> {
  if (facadeTlsCert === undefined || facadeTlsKey === undefined) return;
  try {
    const [cert, key] = await Promise.all([readFile(facadeTlsCert), readFile(facadeTlsKey)]);
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new StartError(`the files of --facade-tls-cert and --facade-tls-key cannot be used: ${(cause as Error).message}`, { cause });
  }
}
