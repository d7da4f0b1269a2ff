// Runs kubectl against the embedded and a real API server, and normalizes the output for comparison.

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApiServer } from '../../apiserver/server.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { startRealCluster } from '../support/real-cluster.ts';
import { type RunResult, run } from '../support/run.ts';
import { TEST_USERS } from '../support/users.ts';

export interface KubectlWorld {
  /** Folder for files that kubectl reads. */
  readonly folder: string;
  /** Runs kubectl against both servers. Spaces separate arguments, except in single quotes. SERVER is replaced with the server's name. */
  readonly kubectl: (command: string) => Promise<Both<Outcome>>;
  /** Runs kubectl against both servers, and returns the unchanged output. */
  readonly output: (command: string) => Promise<Both<string>>;
  readonly stop: () => Promise<void>;
}

export interface Both<T> {
  readonly embedded: T;
  readonly real: T;
}

/** Normalized output of kubectl, including standard error, and its exit code. */
export interface Outcome {
  readonly code: number | null;
  readonly text: string;
}

export async function startKubectlWorld(): Promise<KubectlWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-kubectl-'));
  const faults: unknown[] = [];
  const report = (error: unknown) => void faults.push(error);
  const [embedded, real] = await Promise.all([
    startApiServer({ folder: join(folder, 'data'), port: 0, issuer: 'https://hub.test', tokens: TEST_USERS, report }),
    startRealCluster({ controllers: true }),
  ]);
  const runs = { embedded: await createRunner(folder, 'embedded', embedded), real: await createRunner(folder, 'real', real) };
  const onBoth = async <T>(command: string, view: (result: RunResult) => T): Promise<Both<T>> => {
    const args = command.match(/'[^']*'|\S+/g)?.map((word) => word.replaceAll("'", '')) ?? [];
    const [embeddedResult, realResult] = await Promise.all([runs.embedded(args), runs.real(args)]);
    return { embedded: view(embeddedResult), real: view(realResult) };
  };
  return {
    folder,
    kubectl: (command) => onBoth(command, (result) => toOutcome(result, folder)),
    output: (command) => onBoth(command, ({ output }) => output),
    stop: async () => {
      await Promise.all([embedded.close(), real.stop()]);
      await rm(folder, { recursive: true, force: true });
      if (faults.length > 0) throw new AggregateError(faults, `the embedded server reported ${faults.length} unexpected errors`);
    },
  };
}

/** Returns a function that runs kubectl as an administrator of one server, with its own caches. */
async function createRunner(folder: string, name: string, server: { readonly url: string; readonly ca: string }) {
  const home = join(folder, name);
  await mkdir(home, { recursive: true });
  const kubeconfig = join(home, 'kubeconfig');
  const cluster = { server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'admintoken' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'shop' } }],
    'current-context': 'x',
  };
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  const env = { HOME: home, KUBECONFIG: kubeconfig, KUBE_EDITOR: join(folder, 'edit.sh'), TERM: 'dumb' };
  const { kubectl } = kubeBinaries() ?? { kubectl: '' };
  return (args: readonly string[]) =>
    run(
      kubectl,
      args.map((word) => word.replaceAll('SERVER', name)),
      env,
    );
}

function toOutcome({ code, output, stderr }: RunResult, folder: string): Outcome {
  return { code, text: normalize(`${output}${stderr}`.replaceAll(folder, '.')) };
}

/** Patterns of strings that differ between servers and runs, with their replacements. */
const VOLATILE: readonly (readonly [RegExp, string])[] = [
  // Appears only if the timeout of kubectl ends a watch, not if it ends the pause between two watches.
  [/^E\d{4} .* "Failed to watch" err="context deadline exceeded" .*\n/gm, ''],
  [/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'UID'],
  [/eyJ[\w-]+\.eyJ[\w-]+\.[\w-]+/g, 'TOKEN'],
  [/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| \+0000)/g, 'TIME'],
  [/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000/g, 'TIME'],
  [/(resourceVersion"?: ?"?|Resource Version: +)\d+/gi, '$1RV'],
  [/127\.0\.0\.1:\d+/g, 'ADDRESS'],
  [/\/[/\w]+\/(LIVE|MERGED)-\d+/g, '$1'],
  [/\b\d+(\.\d+)?m?s\b/g, 'AGE'],
  [/ +/g, ' '],
];

function normalize(text: string): string {
  return VOLATILE.reduce((normalized, [pattern, replacement]) => normalized.replaceAll(pattern, replacement), text);
}
