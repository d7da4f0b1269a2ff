import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { isListenError, StartError, toListenError } from '../../src/config/start-error.ts';

const PORTS = { apiPort: 0, facadePort: 1, metricsPort: 2, bindAddress: undefined };

async function failure(port: number, host: string): Promise<unknown> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

describe('toListenError', () => {
  it('names the option of a port that is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const error = toListenError(await failure(port, '127.0.0.1'), { ...PORTS, metricsPort: port });
    server.close();

    expect(error).toEqual(new StartError(`port ${port} is already in use. Choose another --metrics-port, or 0 for a free port`));
  });

  it('includes the cause if a port is not available', async () => {
    const refused = Object.assign(new Error('listen EACCES: permission denied'), { code: 'EACCES', syscall: 'listen', port: 1 });

    expect(toListenError(refused, PORTS)).toEqual(
      new StartError('port 1 is not available (listen EACCES: permission denied). Choose another --facade-port, or 0 for a free port'),
    );
  });

  it.each([
    ['that this machine does not have', '192.0.2.1', /^cannot listen on 192\.0\.2\.1 \(listen EADDRNOTAVAIL.+\)\. /],
    [
      'that does not resolve',
      'no-such-host.invalid',
      /^cannot listen on no-such-host\.invalid \(getaddrinfo \w+ no-such-host\.invalid\)\. /,
    ],
  ])('names the option of an address %s', async (_, bindAddress, expected) => {
    const error = toListenError(await failure(1, bindAddress), { ...PORTS, bindAddress });

    expect(error).toBeInstanceOf(StartError);
    expect((error as Error).message).toMatch(expected);
    expect((error as Error).message).toMatch(/\. Choose another --bind-address$/);
  });

  it('returns other errors unchanged', () => {
    const error = new Error('oops');

    expect(toListenError(error, PORTS)).toBe(error);
    expect(isListenError(error)).toBe(false);
  });
});
