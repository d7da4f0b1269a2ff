// Startup errors of the process on a cluster.

import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { readText } from './support/repository.ts';
import { run } from './support/run.ts';

const MAIN = join(import.meta.dirname, '../src/main.ts');

describe('purser run', () => {
  it.each([
    [
      'NODE_TLS_REJECT_UNAUTHORIZED=0',
      { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      [],
      /^purser: NODE_TLS_REJECT_UNAUTHORIZED=0 disables .*\n$/m,
    ],
    ['a debugger in NODE_OPTIONS', { NODE_OPTIONS: '--inspect=127.0.0.1:0' }, [], /^purser: NODE_OPTIONS with --inspect exposes .*\n$/m],
    [
      'a missing certificate file',
      {},
      ['--facade-tls-cert=/none/tls.crt', '--facade-tls-key=/none/tls.key'],
      /^purser: cannot load the certificate or its key: ENOENT.*--facade-tls-cert and --facade-tls-key name\n$/,
    ],
  ])('prints one line and exits with 2 for %s', async (_, env, args, line) => {
    const plain = { NODE_OPTIONS: '', KUBECONFIG: '', KUBERNETES_SERVICE_HOST: '' };
    const { code, stderr } = await run(process.execPath, [MAIN, 'run', ...args], { ...plain, ...env });
    expect([code, stderr]).toEqual([2, expect.stringMatching(line)]);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it('prints the version of Purser', async () => {
    const { code, output, stderr } = await run(process.execPath, [MAIN, 'run', '--version'], { NODE_OPTIONS: '' });
    const { name, version } = JSON.parse(readText('package.json')) as Readonly<Record<string, string>>;
    expect({ code, output, stderr }).toEqual({ code: 0, output: `${name} ${version}\n`, stderr: '' });
  });

  it('logs a warning for unknown PURSER_ variables', async () => {
    const env = {
      NODE_OPTIONS: '',
      KUBECONFIG: '',
      KUBERNETES_SERVICE_HOST: '',
      PURSER_SERVICE_HOST: '10.0.0.1',
      PURSER_LOG_LEVLE: 'debug',
    };
    const { stderr } = await run(process.execPath, [MAIN, 'run'], env);
    const [warning = '', ...others] = stderr.split('\n');

    expect(JSON.parse(warning)).toMatchObject({ level: 'warn', variables: ['PURSER_LOG_LEVLE (PURSER_LOG_LEVEL?)'] });
    expect(others).toEqual([expect.stringMatching(/^purser: no hub is configured/), '']);
  });
});
