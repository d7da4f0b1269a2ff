// Purser as it is deployed: installed by kubectl from the manifests, and run as its account with the image's command.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { readDockerfile, type Stage, wordsOf } from '../support/dockerfile.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { type Program, startProgram } from '../support/processes.ts';
import type { RealCluster } from '../support/real-cluster.ts';
import { readText } from '../support/repository.ts';
import { type RunResult, run } from '../support/run.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

export interface DeployedObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
}

export interface Deployment extends DeployedObject {
  readonly spec: {
    readonly template: {
      readonly spec: { readonly serviceAccountName: string; readonly containers: readonly { readonly args: readonly string[] }[] };
    };
  };
}

/** Runs kubectl as an administrator of the cluster; in arguments, `REPO` stands for this repository. */
export async function kubectl(cluster: RealCluster, ...args: readonly string[]): Promise<RunResult> {
  const kubeconfig = await cluster.kubeconfig('admin');
  const words = args.map((arg) => arg.replace('REPO', REPOSITORY));
  return await run(kubeBinaries()?.kubectl ?? 'kubectl', ['--kubeconfig', kubeconfig, ...words]);
}

/** The same; throws what it complains of when it fails. */
export async function kubectlDone(cluster: RealCluster, ...args: readonly string[]): Promise<string> {
  const { code, output, complaints } = await kubectl(cluster, ...args);
  if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${complaints}`);
  return output;
}

/** The objects of a kustomization in `deploy`. */
export async function kustomized(path: string): Promise<readonly DeployedObject[]> {
  const { code, output, complaints } = await run(kubeBinaries()?.kubectl ?? 'kubectl', ['kustomize', join(REPOSITORY, 'deploy', path)]);
  if (code !== 0) throw new Error(complaints);
  return parseAllDocuments(output).map((document) => document.toJS() as DeployedObject);
}

/** Runs what a Deployment runs, as its account, on ports that are free. */
export async function startDeployed(cluster: RealCluster, { metadata, spec }: Deployment, ...options: readonly string[]): Promise<Program> {
  const { serviceAccountName, containers } = spec.template.spec;
  const token = (await kubectlDone(cluster, 'create', 'token', serviceAccountName, '-n', 'purser-system', '--duration=1h')).trim();
  const kubeconfig = join(cluster.folder, `${metadata.name}.kubeconfig`);
  await writeFile(
    kubeconfig,
    JSON.stringify({ ...parse(readText(await cluster.kubeconfig('admin'))), users: [{ name: 'admin', user: { token } }] }),
  );
  const args = (containers[0]?.args ?? []).filter((arg) => !/^--(facade|metrics)-port=/.test(arg));
  const environment = ['-u', 'NODE_OPTIONS', `KUBECONFIG=${kubeconfig}`, 'PURSER_NAMESPACE=purser-system'];
  const command = [
    process.execPath,
    ...nodeOptions(),
    join(REPOSITORY, 'src/main.ts'),
    ...args,
    '--facade-port=0',
    '--metrics-port=0',
    ...options,
  ];
  return await startProgram('env', [...environment, ...command], join(cluster.folder, `${metadata.name}.log`));
}

/** What the image gives Node beside the program. */
function nodeOptions(): readonly string[] {
  const final = readDockerfile(readText('Dockerfile')).stages.at(-1) as Stage;
  return wordsOf(final, 'ENTRYPOINT').filter((word) => word.startsWith('--'));
}
