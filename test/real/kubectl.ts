// Runs kubectl as the administrator of a real cluster.

import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { kubeBinaries } from '../support/kube-binaries.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import { type RunResult, run } from '../support/run.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

/** Runs kubectl; `REPO` in an argument stands for the path of this repository. */
export async function runKubectl(cluster: RealCluster, args: readonly string[]): Promise<RunResult> {
  const kubeconfig = await cluster.kubeconfig('admin');
  const words = args.map((arg) => arg.replace('REPO', REPOSITORY));
  return await run(kubeBinaries()?.kubectl ?? 'kubectl', ['--kubeconfig', kubeconfig, ...words]);
}

/** Runs kubectl, and returns its output. Throws an Error with the error output if kubectl fails. */
export async function kubectlOutput(cluster: RealCluster, args: readonly string[]): Promise<string> {
  const { code, output, stderr } = await runKubectl(cluster, args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
  return output;
}

/** Writes objects to a file as one List, for `kubectl -f`, and returns the path of the file. */
export async function writeList({ folder }: RealCluster, objects: readonly object[]): Promise<string> {
  const file = join(await mkdtemp(join(folder, 'objects-')), 'list.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  return file;
}
