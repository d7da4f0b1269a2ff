// A run of `npm run test:pods` whose namespaces and control groups contain a process that does not end by itself. Prints the folder of the
// run, which is in the folder of the first argument, as soon as the process runs.

import { mkdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { inNamespaces } from '../pods/namespaces.ts';
import { hierarchies } from '../pods/node.ts';
import { createRunFolder, runAsOwner } from '../pods/run-folder.ts';

const folder = await createRunFolder(process.argv[2]);
const groups = (await hierarchies()).map((path) => join(path, basename(folder), 'pod'));
for (const group of groups) await mkdir(group, { recursive: true });
const script =
  'folder=$1; shift; for group in "$@"; do echo $$ > "$group/cgroup.procs"; done 2> /dev/null; echo "$folder"; exec sleep infinity';
await runAsOwner(folder, inNamespaces(['sh', '-c', script, 'sh', folder, ...groups]), { cwd: folder, env: process.env });
