// Folders of test runs. A run that was killed leaves its folder and control groups; the next run removes both.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmdirSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { hierarchies } from './node.ts';

const PREFIX = 'purser-pods-';

/** Name of the folder of the release, in the folder of the run. */
export const RELEASE = 'release';

/** Environment variable with the folder of the run, in the namespaces of the run. */
const FOLDER_VARIABLE = 'PODS_FOLDER';

/** Returns the folder of the run. Throws outside `npm run test:pods`. */
export function podsFolder(): string {
  const folder = process.env[FOLDER_VARIABLE];
  if (!folder) throw new Error('These tests need a cluster: run them with `npm run test:pods`.');
  return folder;
}

/** Creates the folder of a run, owned by this process. The control groups of the run have the same name. */
export async function createRunFolder(parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, PREFIX));
  await writeFile(join(folder, 'owner'), identityOf(process.pid) ?? '');
  return folder;
}

/** Runs a command in the namespaces of a run, and returns its exit code. */
export async function runAsOwner(folder: string, command: readonly string[], { cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }) {
  // The kernel ends the namespaces if this process is killed.
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], {
    cwd,
    env: { ...env, [FOLDER_VARIABLE]: folder },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await once(child, 'spawn');
  await writeFile(join(folder, 'namespaces'), identityOf(child.pid as number) ?? '');
  const stop = () => child.kill('SIGKILL');
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, stop);
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

/** Removes the processes, control groups and folders of runs whose process has ended. */
export async function removeAbandonedRuns(parent = tmpdir()): Promise<void> {
  const folders = readdirSync(parent).filter((name) => name.startsWith(PREFIX));
  for (const folder of folders.map((name) => join(parent, name))) {
    // Another user could create a folder of this name that names any process.
    if (statSync(folder).uid !== process.getuid?.() || (await isAlive(join(folder, 'owner')))) continue;
    console.log(`Removing ${folder} of a run that was killed.`);
    const identity = await readFile(join(folder, 'namespaces'), 'utf8').catch(() => '');
    if (await isAlive(join(folder, 'namespaces'))) process.kill(Number.parseInt(identity, 10), 'SIGKILL');
    await removeRun(folder);
  }
}

/** Removes the control groups and the folder of a run, whose processes have ended or are about to end. */
export async function removeRun(folder: string): Promise<void> {
  for (const hierarchy of await hierarchies()) await removeGroup(join(hierarchy, basename(folder)));
  await rm(folder, { recursive: true, force: true });
}

/** Removes a control group and those in it. The kernel rejects this until all processes of the groups have ended. */
async function removeGroup(path: string): Promise<void> {
  for (const end = performance.now() + GROUP_MS; ; await delay(100)) {
    try {
      for (const group of groupsIn(path)) rmdirSync(group);
      return;
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

const GROUP_MS = 10_000;

/** Returns a control group and those in it, children first. */
function groupsIn(path: string): readonly string[] {
  try {
    const children = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...children.flatMap(({ name }) => groupsIn(join(path, name))), path];
  } catch {
    return [];
  }
}

async function isAlive(file: string): Promise<boolean> {
  const identity = await readFile(file, 'utf8').catch(() => '');
  return identity !== '' && identityOf(Number.parseInt(identity, 10)) === identity;
}

/** Returns the ID and the start time of a process, because the kernel reuses IDs; undefined if the process does not exist. */
function identityOf(pid: number): string | undefined {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
    return fields[0] === 'Z' ? undefined : `${pid} ${fields[19]}`;
  } catch {
    return undefined;
  }
}
