// Time that `purser status` needs for many ManagedTokens after its list requests.

import { runScript } from '../child-process.ts';
import { atMost, type Scenario } from '../scenario.ts';

const GOAL_MS = 1_000;

export const statusReport: Scenario = {
  name: 'status-report',
  title: 'purser status',
  sizeUnit: 'ManagedTokens',
  sizes: { small: 5_000, full: 5_000 },
  note: 'Measured in a new process, without the list requests. One in ten ManagedTokens is failing.',
  run: async ({ size }, progress) => {
    progress(`${size} ManagedTokens`);
    const measured = await runScript<{ readonly milliseconds: number }>('status-report.ts', [size]);
    const name = `${size.toLocaleString('en-US')} ManagedTokens: time to find and print problems`;
    return { measured, figures: [{ name, value: measured.milliseconds, unit: 'ms', goal: atMost(GOAL_MS) }], charts: [] };
  },
};
