// What a failed test needs to be understood after the run, which ends with all programs of the cluster.

import { globSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { podsFolder } from './run-folder.ts';
import { runKubectl } from './world.ts';

const PURSER = ['-n', 'purser-system', 'logs', '--selector=app.kubernetes.io/name=purser', '--prefix', '--tail=10'];

/** Commands for kubectl on the hub. */
const COMMANDS: readonly (readonly string[])[] = [
  ['get', 'pods', '-A', '-o', 'wide'],
  ['get', 'events', '-A', '--field-selector=type=Warning'],
  PURSER,
  [...PURSER, '--previous'],
];

/** Number of lines that are shown of the log of a program. */
const LOG_LINES = 15;

/** Returns the pods, the warnings, and the ends of the logs of Purser and of the programs of the node. */
export async function describeCluster(): Promise<string> {
  const sections: string[] = [];
  for (const command of COMMANDS) {
    const { output, stderr } = await runKubectl('--context', 'hub', '--request-timeout=10s', ...command);
    sections.push(`== kubectl ${command.join(' ')}\n${output}${stderr}`);
  }
  for (const file of globSync(join(podsFolder(), '*.log'))) {
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
    sections.push(`== ${basename(file)}\n${lines.slice(-LOG_LINES).join('\n')}\n`);
  }
  return sections.join('\n');
}
