// What the documentation names must exist: files, links, options, scripts. Commands are run in test/real/docs-*.test.ts.

import { existsSync, globSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { optionOf, variableOf } from '../../src/config/options.ts';
import { readText } from '../support/repository.ts';
import { run } from '../support/run.ts';
import { blocksOf, documents, proseOf } from './documents.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const all = documents();
const blocks = all.flatMap(blocksOf);
const commands = blocks.filter(({ language }) => language === 'sh' || language === 'console');
const { scripts } = JSON.parse(readText('package.json')) as { readonly scripts: Readonly<Record<string, string>> };

/** Blocks whose commands no test runs, by their first line, with the reason. */
const NOT_RUN: Readonly<Record<string, string>> = {
  '$ npm ci && npm start': 'the tour starts the same program on free ports, and compares what it prints',
  'docker buildx build --platform linux/amd64,linux/arm64 -t registry.example.com/purser:0.1.0 --push .':
    'needs a registry; test/deploy/image.test.ts and test/real/image.test.ts go through the Dockerfile',
  'kubectl --context hub -n purser-system rollout status deployment/purser': 'needs nodes; test/real runs what the Deployment runs',
  'helm install purser deploy/chart --namespace purser-system --create-namespace \\':
    'test/real/chart.test.ts has Helm make the same objects as kustomize',
  'KUBECONFIG=$HOME/.kube/config npm start': 'test/e2e/replicas.test.ts starts it so',
  'kubectl --context hub apply --server-side -k deploy/base': 'the installation runs it',
  'kubectl --context hub -n purser-system rollout undo deployment/purser': 'needs nodes',
  'kubectl -n NAMESPACE describe mt NAME': 'a pattern',
};

/** Options of other programs that are named in prose: of docker and helm, and of our own benches. */
const FOREIGN_OPTIONS: ReadonlySet<string> = new Set(
  '--build-arg --create-namespace --help --check --minutes --only --out --runs --scale --seed --write-docs'.split(' '),
);

describe('The documentation', () => {
  it('has a reason for every block of commands that is not run', () => {
    const unrun = commands.filter(({ place, text }) => place === '' && !isScripts(text)).map(({ text }) => text.split('\n')[0]);
    expect(new Set(unrun)).toEqual(new Set(Object.keys(NOT_RUN)));
  });

  it('names places to run in that there are', () => {
    expect(new Set(commands.map(({ place }) => place))).toEqual(new Set(['', 'tour', 'hub', 'orphans']));
  });

  it.each(commands.filter(({ language }) => language === 'sh').map((block) => [`${block.path}:${block.line}`, block.text]))(
    'has commands that a shell can read (%s)',
    async (_, text) => {
      expect(await run('bash', ['-n', '-c', text])).toMatchObject({ code: 0, complaints: '' });
    },
  );

  it.each(all)('links to what there is ($path)', (document) => {
    const links = [...proseOf(document).matchAll(/\]\((?!https?:)([^)]+)\)/g)].map(([, link = '']) => link);
    const broken = links.filter((link) => {
      const [file = '', anchor] = link.split('#');
      const path = file === '' ? document.path : normalize(join(dirname(document.path), file));
      if (!existsSync(join(REPOSITORY, path))) return true;
      return anchor !== undefined && !anchorsOf(readText(path)).includes(anchor);
    });
    expect(broken).toEqual([]);
  });

  it.each(all)('names files that exist ($path)', (document) => {
    const paths = [...everything(document.text).matchAll(/(?<![\w./-])((?:src|test|deploy|crds|docs)\/[\w./*-]*[\w*])/g)].map(
      ([, path = '']) => path,
    );
    const missing = paths.filter((path) => globSync(path, { cwd: REPOSITORY }).length === 0);
    expect(missing).toEqual([]);
  });

  it.each(all)('names options and variables that Purser has ($path)', (document) => {
    const words = [...proseOf(document).matchAll(/`[^`]*`/g)].flatMap(([code]) => [...code.matchAll(/(?<![\w-])--[a-z][a-z-]*/g)]);
    const unknown = words.map(([word]) => word).filter((word) => optionOf(word.slice(2)) === undefined && !FOREIGN_OPTIONS.has(word));
    const variables = [...document.text.matchAll(/PURSER_[A-Z_]+/g)].map(([name]) => name);
    const options = variables.map((name) => name.replace('PURSER_', '').toLowerCase().replaceAll('_', '-'));
    const strange = options.filter((name) => optionOf(name) === undefined || !variables.includes(variableOf(name)));

    expect({ unknown, strange }).toEqual({ unknown: [], strange: [] });
  });

  it.each(all)('names scripts of npm that there are ($path)', ({ text }) => {
    const named = [...text.matchAll(/npm (?:run ([\w:-]+)|(start|test)\b)/g)].map(([, script, short = '']) => script ?? short);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
  });

  it.each(all)('knows no place on one machine ($path)', ({ text }) => {
    expect(text.match(/(?<![\w.])\/(root|work|tmp|home)\//g)).toBeNull();
  });
});

describe('The README', () => {
  it('has a row for every folder of src', () => {
    const named = new Set([...readText('README.md').matchAll(/`(src\/[\w.-]+)`/g)].map(([, path]) => path));
    const folders = globSync('src/*/', { cwd: REPOSITORY }).map((path) => path.replace(/\/$/, ''));
    expect(folders.filter((folder) => !named.has(folder))).toEqual([]);
  });
});

/** Whether a block has nothing but scripts and programs of this repository, which are tests and benches themselves. */
function isScripts(text: string): boolean {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return lines.every((line) => /^(npm (run|test) |node (src|test|deploy|docs)\/)/.test(line));
}

/** The text without names that only look like paths: of accounts, and with a placeholder in them. */
function everything(text: string): string {
  return text.replaceAll(/`test\/<[^`]*`/g, '').replaceAll(/\/\w+\/deployer/g, '');
}

/** The anchors that GitHub makes of headings. */
function anchorsOf(text: string): readonly string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
