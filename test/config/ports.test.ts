import { createServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { explainedPort, isListenError } from '../../src/config/ports.ts';
import { StartError } from '../../src/config/start-error.ts';

const PORTS = { apiPort: 0, facadePort: 1, metricsPort: 2, bindAddress: undefined };

async function failure(port: number, host: string): Promise<unknown> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', resolve);
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}

describe('explainedPort', () => {
  it('names the option of a port that is taken', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    const error = explainedPort(await failure(port, '127.0.0.1'), { ...PORTS, metricsPort: port });
    server.close();

    expect(error).toEqual(new StartError(`port ${port} is taken; choose another --metrics-port, 0 for any free one`));
  });

  it('says why a port cannot be used', async () => {
    const refused = Object.assign(new Error('listen EACCES: permission denied'), { code: 'EACCES', syscall: 'listen', port: 1 });

    expect(explainedPort(refused, PORTS)).toEqual(
      new StartError('port 1 cannot be used (listen EACCES: permission denied); choose another --facade-port, 0 for any free one'),
    );
  });

  it.each([
    ['that this machine does not have', '192.0.2.1', /^192\.0\.2\.1 is no address to listen on \(listen EADDRNOTAVAIL.+\); /],
    [
      'that cannot be resolved',
      'no-such-host.invalid',
      /^no-such-host\.invalid is no address to listen on \(getaddrinfo \w+ no-such-host\.invalid\); /,
    ],
  ])('names the option of an address %s', async (_, bindAddress, expected) => {
    const error = explainedPort(await failure(1, bindAddress), { ...PORTS, bindAddress });

    expect(error).toBeInstanceOf(StartError);
    expect((error as Error).message).toMatch(expected);
    expect((error as Error).message).toMatch(/choose another --bind-address$/);
  });

  it('leaves other errors as they are', () => {
    const error = new Error('oops');

    expect(explainedPort(error, PORTS)).toBe(error);
    expect(isListenError(error)).toBe(false);
  });
});
