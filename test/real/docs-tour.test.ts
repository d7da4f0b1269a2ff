// Runs the commands of docs/tour.md and of the first example in the README against a local run with the real kubectl, and compares the
// output with the documented one.

import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { blocksOf, documents, type Step, stepsOf } from '../docs/documents.ts';
import { type Ran, runSteps, toComparableText } from '../docs/shell.ts';
import { type LocalRun, startLocalRun } from '../e2e/local-run.ts';
import { newFolder } from '../support/folders.ts';
import { kubeBinaries } from '../support/kube-binaries.ts';
import { run } from '../support/run.ts';

const blocks = documents().flatMap(blocksOf);
const steps = blocks.filter(({ place }) => place === 'tour').flatMap(stepsOf);
const welcome = blocks.flatMap(stepsOf).find(({ command, shown }) => command.includes('npm start') && shown !== undefined)?.shown ?? '';
const { kubectl } = kubeBinaries() ?? { kubectl: '' };

let local: LocalRun;
let ran: readonly Ran[];

beforeAll(async () => {
  const folder = await newFolder();
  local = await startLocalRun(folder);
  const { kubeconfig } = local.ready;
  // The tour starts with tokens and clusters that are ready.
  await run(kubectl, ['--kubeconfig', kubeconfig, 'wait', 'mt', '-A', '--all', '--for=condition=Ready', '--timeout=60s']);
  await run(kubectl, ['--kubeconfig', kubeconfig, 'wait', 'clusters', '--all', '--for=condition=Ready', '--timeout=60s']);
  const env = { PATH: `${dirname(kubectl)}:${process.env['PATH']}`, HOME: folder, TERM: 'dumb', NO_PROXY: '127.0.0.1' };
  ran = await runSteps(steps.map(toLocal), { folder, env });
});

afterAll(async () => void (await local?.end('SIGTERM')));

describe('tour', () => {
  it.each(steps.map(({ command }, index) => [command.split('\n')[0], index] as const))(
    'prints the documented output of: %s',
    (_, index) => {
      const { shown, printed, code } = ran[index] as Ran;
      // A block of sh has no documented output and must succeed.
      if (shown === undefined) expect({ code, printed }).toMatchObject({ code: 0 });
      else expect(toComparableText(printed)).toBe(toComparableText(shown));
    },
  );

  it('starts with the output of npm start', async () => {
    const { stdout } = await local.end('SIGTERM');
    const [introduction = ''] = welcome.split('\n…\n');
    const [printed = ''] = stdout.split('Try in');
    const dataFolder = /(\S+\/)?data\//g;
    expect(toComparableText(printed.replaceAll(dataFolder, '.purser/'))).toBe(toComparableText(introduction));
  });
});

/** Returns the step with the ports and the folder of this run. */
function toLocal({ command, shown }: Step): Step {
  const addresses = { '127.0.0.1:7444': local.ready.facade, '127.0.0.1:7445': local.ready.metrics };
  const replaced = Object.entries(addresses).reduce(
    (text, [known, url]) => text.replaceAll(known, new URL(url).host),
    command.replaceAll('.purser/', 'data/'),
  );
  return { command: replaced, shown };
}
