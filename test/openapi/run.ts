// `npm run test:openapi`: validates the OpenAPI document of a local run with openapi-spec-validator, and sends requests that
// Schemathesis generates from it. Both are Python programs that requirements.txt pins. Arguments are passed on to `st run`, for example
// `--seed 2 --max-examples 1000`.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type LocalCluster, type LocalRun, send, startLocalRun } from '../e2e/local-run.ts';
import { preparePython } from './python.ts';

const FOLDER = import.meta.dirname;
const CLUSTER = 'target-1';
const BOUND_OBJECT = 'anchor';
const NAMESPACE = 'deploy';
/** Maximum number of random requests to each operation. */
const MAX_EXAMPLES = 100;

async function testDocument(): Promise<void> {
  const python = await preparePython();
  const folder = await mkdtemp(join(tmpdir(), 'purser-openapi-'));
  try {
    const run = await startLocalRun(folder, '--facade-rate', '0', '--clusters', '2');
    try {
      await testRun(run, folder, python);
    } finally {
      await run.end('SIGTERM');
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function testRun({ ready }: LocalRun, folder: string, python: string): Promise<void> {
  const target = ready.clusters[CLUSTER] as LocalCluster;
  await addBoundObjects(target);
  const facade = { ...ready, api: ready.facade };
  const document = join(folder, 'openapi.json');
  await writeFile(document, (await send(facade, 'admin', 'GET /openapi/v3')).body);
  await runProgram(join(python, 'openapi-spec-validator'), [document], folder);
  const pages: Record<string, unknown> = {};
  for (const [operation, path] of Object.entries(LISTS))
    pages[operation] = (JSON.parse((await send(facade, 'admin', `GET ${path}?limit=1`)).body) as Page).metadata;
  const environment = {
    SCHEMATHESIS_HOOKS: join(FOLDER, 'hooks.py'),
    OPENAPI_CLUSTER: CLUSTER,
    OPENAPI_BOUND_OBJECT: BOUND_OBJECT,
    OPENAPI_PAGES: JSON.stringify(pages),
  };
  const options = ['--tls-verify', ready.ca, '--header', `Authorization: Bearer ${ready.tokens['admin']}`];
  const limits = ['--max-examples', String(MAX_EXAMPLES), '--phases', 'examples,coverage,fuzzing'];
  const args = ['--config-file', join(FOLDER, 'schemathesis.toml'), 'run', `${ready.facade}/openapi/v3`, ...options, ...limits];
  const report = join(folder, 'report.ndjson');
  await runProgram(join(python, 'st'), [...args, '--report-ndjson-path', report, ...process.argv.slice(2)], folder, environment);
  checkReport(await readFile(report, 'utf8'));
}

/** Paths of the lists, by operation. */
const LISTS = {
  listCluster: '/auth/v1/clusters',
  listManagedTokenForAllNamespaces: '/auth/v1/managedtokens',
  listNamespacedManagedToken: '/auth/v1/namespaces/team-a/managedtokens',
};

interface Page {
  readonly metadata: object;
}

/** Creates the objects to which the generated requests bind tokens. */
async function addBoundObjects(target: LocalCluster): Promise<void> {
  const metadata = { name: BOUND_OBJECT, namespace: NAMESPACE };
  const pod = { serviceAccountName: 'deployer', containers: [{ name: 'a', image: 'a' }] };
  const objects = [
    ['secrets', { apiVersion: 'v1', kind: 'Secret', metadata }],
    ['pods', { apiVersion: 'v1', kind: 'Pod', metadata, spec: pod }],
  ] as const;
  for (const [plural, object] of objects) {
    const { status, body } = await send(target, 'admin', `POST /api/v1/namespaces/${NAMESPACE}/${plural}`, object);
    if (status !== 201) throw new Error(`cannot create ${object.kind} ${BOUND_OBJECT}: ${body}`);
  }
}

/** Runs a program in a folder, where it may write files, with its output on the terminal. Throws if it fails. */
async function runProgram(path: string, args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const environment = { ...process.env, PYTHONDONTWRITEBYTECODE: '1', ...env };
  const child = spawn(path, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'], env: environment });
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${path} failed`);
}

interface ScenarioFinished {
  readonly recorder: {
    readonly label: string;
    readonly interactions: Readonly<Record<string, { readonly response: { readonly status_code: number } | null }>>;
  };
}

/** Number of operations in the document. */
const OPERATIONS = 6;
/** Minimum number of accepted and of rejected requests to each operation. */
const MIN_RESPONSES = 20;

/** Prints the number of responses by operation and code. Throws if an operation was not tested with accepted and rejected requests. */
function checkReport(report: string): void {
  const lines = report.split('\n').filter((line) => line.startsWith('{"ScenarioFinished"'));
  const recorders = lines.map((line) => (JSON.parse(line) as { readonly ScenarioFinished: ScenarioFinished }).ScenarioFinished.recorder);
  const operations = Map.groupBy(recorders, ({ label }) => label);
  for (const [label, recorded] of operations) {
    const codes = recorded.flatMap(({ interactions }) =>
      Object.values(interactions).flatMap(({ response }) => response?.status_code ?? []),
    );
    const counts = [...Map.groupBy(codes, String)].map(([code, { length }]) => `${code}: ${length}`).sort();
    console.log(`${label}\n  ${counts.join(', ')}`);
    const accepted = codes.filter((code) => code < 300).length;
    if (accepted < MIN_RESPONSES || codes.length - accepted < MIN_RESPONSES)
      throw new Error(`${label}: too few accepted or rejected requests`);
  }
  if (operations.size !== OPERATIONS) throw new Error(`${operations.size} operations were tested instead of ${OPERATIONS}`);
}

try {
  await testDocument();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
