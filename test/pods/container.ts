// Containers of pods, as the kernel sees them.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../support/run.ts';
import { podsFolder } from './run-folder.ts';
import type { Pod } from './world.ts';

/** Name of the image in the README's registry. */
export const PUSHED = 'registry.example.com/purser:0.1.0';

/** Returns the ID of the first process of a pod's container. */
export async function processOf({ metadata, status }: Pod): Promise<number> {
  const id = status.containerStatuses[0]?.containerID.replace('containerd://', '') ?? '';
  const { output } = await run('ctr', [...CTR(), 'tasks', 'list']);
  const pid = output
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([task]) => task === id)?.[1];
  if (pid === undefined) throw new Error(`The container of ${metadata.name} does not run.`);
  return Number(pid);
}

/** Returns the fields of /proc/PID/status. */
export function statusOf(pid: number): Readonly<Record<string, string>> {
  const lines = readFileSync(`/proc/${pid}/status`, 'utf8').trimEnd().split('\n');
  return Object.fromEntries(lines.map((line) => line.split(/:\s*/, 2) as [string, string]));
}

/** Returns the mount options of a path in the container of a process. */
export function mountOptions(pid: number, path: string): readonly string[] {
  const mounts = readFileSync(`/proc/${pid}/mounts`, 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  return mounts.find(([, target]) => target === path)?.[3]?.split(',') ?? [];
}

/** Returns the peak memory of a container and its memory limit, in bytes. */
export function memoryOf(pid: number): { readonly peak: number; readonly limit: number } {
  const groups = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .map((line) => line.split(':'));
  const v1 = groups.find(([, controllers]) => controllers?.split(',').includes('memory'))?.[2];
  const folder = v1 === undefined ? join('/sys/fs/cgroup', groups[0]?.[2] ?? '') : join('/sys/fs/cgroup/memory', v1);
  const read = (name: string) => Number(readFileSync(join(folder, name), 'utf8'));
  return existsSync(join(folder, 'memory.max'))
    ? { peak: read('memory.peak'), limit: read('memory.max') }
    : { peak: read('memory.max_usage_in_bytes'), limit: read('memory.limit_in_bytes') };
}

/** Adds another name to an image on the node. */
export async function tagImage(name: string, other: string): Promise<void> {
  const { code, stderr } = await run('ctr', [...CTR(), 'images', 'tag', '--force', name, other]);
  if (code !== 0) throw new Error(stderr);
}

const CTR = () => ['--address', join(podsFolder(), 'containerd.sock'), '--namespace', 'k8s.io'];
