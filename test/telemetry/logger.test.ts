import { describe, expect, it } from '@jest/globals';
import { Sensitive } from '../../src/std/sensitive.ts';
import { createLogger, type LoggerOptions } from '../../src/telemetry/logger.ts';

function logger(options: { readonly level?: LoggerOptions['level']; readonly readable?: boolean } = {}) {
  const lines: string[] = [];
  const log = createLogger({ level: 'info', readable: false, ...options, write: (line) => lines.push(line) });
  return { lines, log };
}

describe('createLogger', () => {
  it('writes a line of JSON', () => {
    const { lines, log } = logger();
    log.info({ clusters: 2 }, 'in sync');

    expect(lines.map((line) => JSON.parse(line))).toEqual([{ level: 'info', time: expect.any(String), clusters: 2, msg: 'in sync' }]);
  });

  it('writes level, message, error and fields in a readable line', () => {
    const { lines, log } = logger({ readable: true });
    log.warn({ error: new Error('too late'), server: 'hub', count: 2 }, 'failed');

    expect(lines.join('')).toMatch(/^\d\d:\d\d:\d\d WARN {2}failed: too late server=hub count=2\n( {4}at .+\n)+$/);
  });

  it('escapes control characters in keys, values and messages of a readable line', () => {
    const { lines, log } = logger({ readable: true });
    const forged = '\n12:00:00 INFO  token issued\r\u001b[2K\u009b2K\u2028\u202e';
    log.warn({ error: new Error(forged), [`key${forged}`]: 1, boundObject: forged, list: [forged] }, `failed${forged}`);

    const [first = '', ...frames] = lines.join('').trimEnd().split('\n');
    expect(first).toMatch(/^\d\d:\d\d:\d\d WARN {2}failed\\u000a12:00:00 INFO /);
    expect(first).toContain('boundObject=\\u000a12:00:00 INFO  token issued\\u000d\\u001b[2K\\u009b2K\\u2028\\u202e');
    expect(first).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    expect(frames.filter((line) => !line.startsWith('    at '))).toEqual([]);
  });

  it('omits lines below the level of the logger', () => {
    const { lines, log } = logger({ level: 'warn' });
    log.info('quiet');

    expect(lines).toEqual([]);
  });

  it.each([
    ['tokens', { token: 'hidden-value' }],
    ['tokens inside values', { request: { token: 'hidden-value' } }],
    ['headers', { request: { headers: { authorization: 'Bearer hidden-value' } } }],
    ['sensitive values', { key: new Sensitive('hidden-value') }],
  ])('never prints %s', (_name, value) => {
    const { lines, log } = logger();
    log.info(value, 'request');

    expect(lines.join('')).toContain('[redacted]');
    expect(lines.join('')).not.toContain('hidden-value');
  });

  it('never prints a token in the message or stack of an error', () => {
    const { lines, log } = logger();
    log.error({ error: new TypeError('cannot read eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln') }, 'defect');
    log.error({ error: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln' }, 'defect');

    expect(lines.join('')).toContain('cannot read [redacted]');
    expect(lines.join('')).not.toContain('eyJ');
  });

  it.each(['trace', 'debug', 'info', 'fatal'] as const)('never prints text that looks like a token at level %s', (level) => {
    for (const readable of [false, true]) {
      const { lines, log } = logger({ level: 'trace', readable });
      log[level](
        { detail: 'eyJhbGciOi.eyJzdWIiOi.c2ln', nested: { list: ['eyJhbGciOi.eyJzdWIiOi.c2ln'] } },
        'sent eyJhbGciOi.eyJzdWIiOi.c2ln',
      );

      expect(lines.join('').match(/\[redacted\]/g)).toHaveLength(3);
      expect(lines.join('')).not.toContain('eyJ');
    }
  });

  it('prints the stack only for a defect', () => {
    const { lines, log } = logger();
    const statusError = Object.assign(new Error('no'), { name: 'StatusError', code: 403 });
    log.error({ error: new TypeError('oops') }, 'defect');
    log.error({ error: statusError }, 'statusError');

    const [defect, serialized] = lines.map((line) => JSON.parse(line).error);
    expect(defect).toEqual({ name: 'TypeError', message: 'oops', stack: expect.stringContaining('logger.test.ts') });
    expect(serialized).toEqual({ name: 'StatusError', message: 'no', code: 403 });
  });
});
