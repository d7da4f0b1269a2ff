// Allowed imports between layers. The table is the architecture: a folder without an entry, or an import without one, fails.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';

interface Layer {
  /** Folders or files of src that the layer may import, besides itself. */
  readonly imports: readonly string[];
  /** Packages whose values the layer may use; types of @kubernetes/client-node are always allowed. */
  readonly packages: readonly string[];
  /** True if the layer may use node: modules. */
  readonly node: boolean;
  readonly purpose: string;
}

const LAYERS: Readonly<Record<string, Layer>> = {
  std: { imports: [], packages: ['rxjs'], node: true, purpose: 'could belong to any project' },
  api: { imports: ['std'], packages: [], node: false, purpose: 'our API as types and names' },
  kubernetes: {
    imports: ['std'],
    packages: ['yaml'],
    node: true,
    purpose: 'vocabulary and wire forms of Kubernetes APIs, shared by the façade and the embedded server',
  },
  kube: {
    imports: ['api', 'kubernetes', 'std'],
    packages: ['@kubernetes/client-node', 'rxjs', 'undici', 'yaml'],
    node: true,
    purpose: 'the only folder that talks to a Kubernetes API',
  },
  telemetry: { imports: ['api', 'kubernetes', 'std'], packages: ['pino', 'prom-client'], node: true, purpose: 'logs and metrics' },
  runtime: {
    imports: ['api', 'kube', 'kubernetes', 'std', 'telemetry'],
    packages: ['rxjs'],
    node: false,
    purpose:
      'controller machinery: knows keys, not our kinds; of kube, uses types, the namespace of a key, and the error for requests without a response',
  },
  'targets/policy': {
    imports: ['api', 'kubernetes', 'std'],
    packages: [],
    node: false,
    purpose: 'decides which requests and responses are trusted',
  },
  targets: {
    imports: ['api', 'kube', 'kubernetes', 'std', 'targets/policy'],
    packages: [],
    node: true,
    purpose: 'everything that touches a target cluster',
  },
  access: {
    imports: ['api', 'kube', 'kubernetes', 'std', 'telemetry'],
    packages: ['rxjs'],
    node: false,
    purpose: 'permissions: reviews by the hub, and the index over its RBAC',
  },
  'clusters/policy': {
    imports: ['api', 'kubernetes', 'std', 'targets/policy'],
    packages: [],
    node: false,
    purpose: 'decides about Clusters without effects',
  },
  clusters: {
    imports: ['access', 'api', 'clusters/policy', 'kube', 'kubernetes', 'runtime', 'std', 'targets', 'targets/policy', 'telemetry'],
    packages: ['rxjs'],
    node: true,
    purpose: 'the Cluster controller',
  },
  'credentials/policy': {
    imports: ['std', 'targets/policy'],
    packages: [],
    node: false,
    purpose: "decides about Purser's own credentials without effects",
  },
  credentials: {
    imports: ['api', 'credentials/policy', 'kube', 'kubernetes', 'runtime', 'std', 'targets', 'targets/policy', 'telemetry'],
    packages: ['rxjs'],
    node: false,
    purpose: "the credential controller, which renews Purser's own credentials",
  },
  'tokens/outputs': { imports: ['api', 'std', 'targets/policy'], packages: [], node: false, purpose: 'renders Secrets' },
  'tokens/policy': {
    imports: ['api', 'kubernetes', 'std', 'targets/policy', 'tokens/outputs'],
    packages: [],
    node: false,
    purpose: 'decides about ManagedTokens without effects',
  },
  tokens: {
    imports: [
      'access',
      'api',
      'kube',
      'kubernetes',
      'runtime',
      'std',
      'targets',
      'targets/policy',
      'telemetry',
      'tokens/outputs',
      'tokens/policy',
    ],
    packages: ['rxjs'],
    node: true,
    purpose: 'the ManagedToken controller',
  },
  'sets/policy': {
    imports: ['api', 'kubernetes', 'std', 'tokens/policy'],
    packages: [],
    node: false,
    purpose: 'decides about ManagedTokenSets without effects',
  },
  sets: {
    imports: ['access', 'api', 'kube', 'kubernetes', 'runtime', 'sets/policy', 'std', 'targets', 'telemetry', 'tokens', 'tokens/policy'],
    packages: ['rxjs'],
    node: true,
    purpose: 'the ManagedTokenSet controller',
  },
  'ui/model': { imports: [], packages: [], node: false, purpose: 'decides what the web UI shows; runs in browsers' },
  'ui/page': { imports: ['ui/model'], packages: ['htm', 'preact'], node: true, purpose: 'the page of the web UI; runs in browsers' },
  ui: { imports: ['kubernetes'], packages: [], node: true, purpose: 'the files of the web UI, as servers send them' },
  facade: {
    imports: ['access', 'api', 'clusters/policy', 'kube', 'kubernetes', 'std', 'targets', 'targets/policy', 'telemetry', 'ui'],
    packages: ['find-my-way', 'rxjs'],
    node: true,
    purpose: 'the HTTP façade; independent of the controllers',
  },
  config: { imports: ['api', 'kubernetes', 'std'], packages: [], node: true, purpose: 'settings, checked once' },
  cli: {
    imports: [
      'access',
      'api',
      'config',
      'kube',
      'kubernetes',
      'std',
      'targets',
      'targets/policy',
      'telemetry',
      'tokens/outputs',
      'tokens/policy',
      'ui',
      'ui/model',
    ],
    packages: ['commander', 'yaml'],
    node: true,
    purpose: 'commands, signals, exit codes',
  },
  app: {
    imports: [
      'access',
      'api',
      'clusters',
      'config',
      'credentials',
      'facade',
      'kube',
      'kubernetes',
      'runtime',
      'sets',
      'std',
      'targets',
      'targets/policy',
      'telemetry',
      'tokens',
    ],
    packages: ['rxjs'],
    node: true,
    purpose: 'the composition root',
  },
  operator: {
    imports: ['app', 'cli', 'config', 'kube', 'std', 'telemetry'],
    packages: [],
    node: false,
    purpose: 'the operator on a cluster',
  },
  main: { imports: ['cli', 'operator', 'std'], packages: [], node: false, purpose: 'the process' },
  apiserver: {
    imports: ['kubernetes', 'std'],
    packages: ['@marcbachmann/cel-js', 'jose', 're2js'],
    node: true,
    purpose: 'the embedded API server; its clients reach it only over HTTPS, so it never imports kube',
  },
  'apiserver/dev': {
    imports: ['api', 'apiserver', 'app', 'cli', 'config', 'facade', 'kube', 'kubernetes', 'main', 'std', 'telemetry'],
    packages: ['yaml'],
    node: true,
    purpose: 'the local run and its process',
  },
};

/** Development tools. */
const TOOLS = new Set(['src/api/generate.ts', 'src/config/generate.ts']);

const root = join(import.meta.dirname, '..');
const files = ['src', 'apiserver']
  .flatMap((folder) => (readdirSync(join(root, folder), { recursive: true }) as string[]).map((file) => join(folder, file)))
  .filter((file) => file.endsWith('.ts') && !file.startsWith('apiserver/test/') && !TOOLS.has(file));

interface Import {
  readonly from: string;
  readonly target: string;
  readonly isType: boolean;
}

const IMPORT = /^(?:import|export)\s+(type\s)?(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm;

const imports: readonly Import[] = files.flatMap((from) =>
  [...readFileSync(join(root, from), 'utf8').matchAll(IMPORT)].map(([, type, target, dynamic]) => ({
    from,
    target: target ?? dynamic ?? '',
    isType: type !== undefined,
  })),
);

/** Imported files by file. */
const importedBy = new Map(
  files.map((file) => [
    file,
    imports.filter(({ from, target }) => from === file && target.startsWith('.')).map(({ target }) => join(dirname(file), target)),
  ]),
);

/** Returns the layer of a file: `src/kube/client.ts` → `kube`, `src/tokens/policy/plan.ts` → `tokens/policy`. */
function layerOf(file: string): string {
  const path = file.replace(/^src\//, '').replace(/\.ts$/, '');
  const [folder = '', inner = ''] = path.split('/');
  return `${folder}/${inner}` in LAYERS ? `${folder}/${inner}` : folder;
}

/** Returns all files that a file imports, directly or indirectly. */
function reachableFrom(file: string): ReadonlySet<string> {
  const reached = new Set<string>();
  const pending = [file];
  for (let from = pending.pop(); from !== undefined; from = pending.pop()) {
    for (const to of importedBy.get(from) ?? []) {
      if (reached.has(to)) continue;
      reached.add(to);
      pending.push(to);
    }
  }
  return reached;
}

describe('layers of the source', () => {
  it('lists every folder in the table of layers', () => {
    expect(files.length).toBeGreaterThan(100);
    expect(imports.length).toBeGreaterThan(files.length);
    expect([...new Set(files.map(layerOf))].filter((layer) => LAYERS[layer] === undefined)).toEqual([]);
  });

  it('imports only from layers that the table allows', () => {
    const violations = imports
      .filter(({ target }) => target.startsWith('.'))
      .map(({ from, target }) => ({ from, to: relative(root, join(root, dirname(from), target)) }))
      .filter(({ from, to }) => layerOf(to) !== layerOf(from) && !LAYERS[layerOf(from)]?.imports.includes(layerOf(to)));
    expect(violations).toEqual([]);
  });

  it('has no import cycles, not even of types', () => {
    expect(files.filter((file) => reachableFrom(file).has(file))).toEqual([]);
  });

  it('uses only the packages that the table allows', () => {
    const violations = imports.filter(({ from, target, isType }) => {
      if (target.startsWith('.') || target.startsWith('node:')) return false;
      const name = target.startsWith('@') ? target.split('/').slice(0, 2).join('/') : (target.split('/')[0] ?? '');
      return !(isType && name === '@kubernetes/client-node') && !LAYERS[layerOf(from)]?.packages.includes(name);
    });
    expect(violations).toEqual([]);
  });

  it("requests tokens for Purser's own service account only to renew its credential", () => {
    const users = files.filter((file) => /\bissueOwnToken\b/.test(readFileSync(join(root, file), 'utf8')));
    expect(users).toEqual(['src/credentials/renew.ts', 'src/targets/issue-token.ts']);
  });

  it('keeps pure layers free of node: modules, clocks and randomness', () => {
    const pure = files.filter((file) => LAYERS[layerOf(file)]?.node === false);
    const impure = imports.filter(({ from, target }) => pure.includes(from) && target.startsWith('node:'));
    expect(impure).toEqual([]);
    const clocks = pure.filter((file) => /\bDate\.now\(|new Date\(\)|Math\.random\(/.test(readFileSync(join(root, file), 'utf8')));
    expect(clocks).toEqual([]);
  });
});
