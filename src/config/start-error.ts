// Errors that the user can correct: incorrect usage, and failures at startup.

/** Incorrect usage or a startup failure that the user can correct. The message is one line: cause, then remedy. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

/** Ports and address that Purser listens on. */
interface Listeners {
  readonly apiPort: number;
  readonly facadePort: number;
  readonly metricsPort: number;
  readonly bindAddress?: string | undefined;
}

/** Returns a StartError that names the option to change if a server cannot listen; returns other errors unchanged. */
export function toListenError(error: unknown, { apiPort, facadePort, metricsPort, bindAddress }: Listeners): unknown {
  if (bindAddress !== undefined && isAddressError(error, bindAddress))
    return new StartError(`cannot listen on ${bindAddress} (${error.message}). Choose another --bind-address`, { cause: error });
  if (!isListenError(error)) return error;
  const options = new Map([
    [apiPort, '--api-port'],
    [facadePort, '--facade-port'],
    [metricsPort, '--metrics-port'],
  ]);
  const port = error.port ?? 0;
  const cause = error.code === 'EADDRINUSE' ? 'is already in use' : `is not available (${error.message})`;
  return new StartError(`port ${port} ${cause}. Choose another ${options.get(port) ?? 'port'}, or 0 for a free port`, { cause: error });
}

/** Returns whether an error is a failed `listen`. */
export function isListenError(error: unknown): error is NodeJS.ErrnoException & { readonly port?: number } {
  return typeof error === 'object' && error !== null && 'syscall' in error && error.syscall === 'listen';
}

/** Returns whether `bindAddress` caused the error: this machine does not have the address, or the name does not resolve. */
function isAddressError(error: unknown, bindAddress: string): error is Error {
  if (isListenError(error)) return error.code === 'EADDRNOTAVAIL';
  return typeof error === 'object' && error !== null && 'hostname' in error && error.hostname === bindAddress;
}
