// Short, seeded version of `npm run faults`: selected faults, crashes, hostile tenants, renewals of credentials,
// ManagedTokenSets, and random faults.

import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Bench } from '../faults/bench.ts';
import { checkHistory } from '../faults/checks/check-history.ts';
import type { Violation } from '../faults/checks/violation.ts';
import { scanForTokens } from '../faults/leak-scan.ts';
import { formatViolations } from '../faults/report.ts';
import { runScenario, type Scenario } from '../faults/scenario.ts';
import { SCENARIOS } from '../faults/scenarios/all.ts';
import { crashPoints } from '../faults/scenarios/crash.ts';
import { randomFaults } from '../faults/scenarios/random-faults.ts';
import { renewalUnderFaults } from '../faults/scenarios/renewal.ts';
import { setsUnderFaults } from '../faults/scenarios/sets.ts';
import { hostileTenants } from '../faults/scenarios/tenants.ts';
import { newFolder } from '../support/folders.ts';

const SEED = 8;
const RANDOM_MINUTES = 0.3;
const ATTACK_MINUTES = 0.5;
const RENEWAL_MINUTES = 0.5;
const SETS_MINUTES = 0.5;
const CRASHES = 3;
/** IDs of short faults of each kind, as in docs/faults.md. */
const SELECTED = new Set(['F14', 'F16', 'F19', 'F44', 'F57d', 'T2', 'H2']);

const scenarios: readonly Scenario[] = [
  ...SCENARIOS.filter(({ id }) => SELECTED.has(id)),
  { id: 'F32', title: `SIGKILL at ${CRASHES} random requests`, on: 'purser', run: crashPoints(CRASHES) },
  hostileTenants({ minutes: ATTACK_MINUTES }),
  renewalUnderFaults(RENEWAL_MINUTES),
  setsUnderFaults(SETS_MINUTES),
  randomFaults(RANDOM_MINUTES),
];

let bench: Bench;
let historyFile: string;

beforeAll(async () => {
  historyFile = join(await newFolder(), 'history.jsonl');
  bench = await Bench.start({ seed: SEED, historyFile, fleet: 3 });
  await bench.startPurser();
  bench.prober.start();
  await bench.waitUntilHealthy(60_000);
});

afterAll(() => bench?.stop(), 60_000);

it.each(scenarios.map((scenario) => [scenario.id, scenario.title, scenario] as const))(
  'violates no invariant under fault %s: %s',
  async (_id, _title, scenario) => {
    const before = bench.history.entries.length;
    await runScenario(bench, scenario, 0);
    const beganAt = bench.history.entries[before]?.at ?? 0;
    expect(formatViolations(violations().filter(({ at }) => at >= beganAt))).toEqual([]);
  },
);

it('writes no token to logs, events, status, metrics or files', async () => {
  await scanForTokens(bench);
  expect(bench.prober.seenTokens.size).toBeGreaterThan(10);
  expect(formatViolations(violations())).toEqual([]);
});

/** Returns violations of all invariants except I15, which compares times and depends on the load of the machine. */
function violations(): readonly Violation[] {
  return checkHistory(bench.history.entries).filter(({ invariant }) => invariant !== 'I15');
}
