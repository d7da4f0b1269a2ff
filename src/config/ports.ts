// Places to listen that cannot be had: what a person can put right, said so.

import type { Config } from './config.ts';
import { StartError } from './start-error.ts';

type Ports = Pick<Config, 'apiPort' | 'facadePort' | 'metricsPort'> & Partial<Pick<Config, 'bindAddress'>>;

/** A failure to listen as a StartError that names the option; anything else as it is. */
export function explainedPort(error: unknown, { apiPort, facadePort, metricsPort, bindAddress }: Ports): unknown {
  if (bindAddress !== undefined && isAddressError(error, bindAddress))
    return new StartError(`${bindAddress} is no address to listen on (${error.message}); choose another --bind-address`, { cause: error });
  if (!isListenError(error)) return error;
  const options = new Map([
    [apiPort, '--api-port'],
    [facadePort, '--facade-port'],
    [metricsPort, '--metrics-port'],
  ]);
  const port = error.port ?? 0;
  const why = error.code === 'EADDRINUSE' ? 'is taken' : `cannot be used (${error.message})`;
  return new StartError(`port ${port} ${why}; choose another ${options.get(port) ?? 'one'}, 0 for any free one`, { cause: error });
}

/** Whether a server could not listen where it should. */
export function isListenError(error: unknown): error is NodeJS.ErrnoException & { readonly port?: number } {
  return typeof error === 'object' && error !== null && 'syscall' in error && error.syscall === 'listen';
}

/** Whether it is the address that is wrong: not of this machine, or a name that cannot be resolved. */
function isAddressError(error: unknown, bindAddress: string): error is Error {
  if (isListenError(error)) return error.code === 'EADDRNOTAVAIL';
  return typeof error === 'object' && error !== null && 'hostname' in error && error.hostname === bindAddress;
}
