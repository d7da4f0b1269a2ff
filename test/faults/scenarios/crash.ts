// SIGKILL before and after every request in the life of a token, each followed by a new process (F32).

import { Annotation } from '../../../src/api/names.ts';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { isTokenWork, type Matcher } from '../proxy/rules.ts';
import type { Scenario } from '../scenario.ts';
import { TEAM } from '../seed.ts';

/** Operation on a token: its trigger and its result. */
interface Operation {
  readonly name: string;
  readonly begin: (bench: Bench, token: string) => Promise<void>;
  readonly isDone: (bench: Bench, token: string) => Promise<boolean>;
}

const isHealthy = async (bench: Bench, token: string) =>
  (await bench.listTokenNames()).includes(token) && (await bench.listProblems()).every((text) => !text.startsWith(`${token}:`));

const OPERATIONS: readonly Operation[] = [
  {
    name: 'issue',
    begin: async (bench, token) => void (await bench.createToken(token, 'two', { revocation: 'BoundSecret' })),
    isDone: isHealthy,
  },
  { name: 'rotate', begin: (bench, token) => bench.rotate(token), isDone: isHealthy },
  {
    name: 'repair',
    begin: async (bench, token) => {
      bench.recordCause(token, 'Secret deleted');
      bench.recordExcuse(token, ['I1', 'I12'], 30_000, 'Secret deleted');
      await bench.hub.api.delete(paths.secrets(TEAM, token));
    },
    isDone: isHealthy,
  },
  {
    name: 'revoke',
    begin: async (bench, token) => {
      bench.recordExcuse(token, ['I1', 'I9', 'I12'], 30_000, 'revoked');
      await bench.annotate(token, Annotation.revoke);
    },
    isDone: isHealthy,
  },
  {
    name: 'delete',
    begin: (bench, token) => bench.deleteToken(token),
    isDone: async (bench, token) => !(await bench.listTokenNames()).includes(token) && (await bench.readToken(token)) === '',
  },
];

const CRASH_POINT_MS = 40_000;
/** Upper bound for the requests of an operation. */
const MAX_REQUESTS = 20;

/** Returns a scenario that crashes Purser at each request of each operation, or at `count` random requests. */
export function crashPoints(count = Infinity): (bench: Bench) => Promise<void> {
  return async (bench) => {
    if (count !== Infinity) return await crashRandomly(bench, count);
    const sides = OPERATIONS.flatMap((operation) => (['before', 'after'] as const).map((when) => ({ operation, when })));
    for (const { operation, when } of sides) {
      for (let at = 1; at <= MAX_REQUESTS; at += 1) if (!(await crash(bench, operation, { at, when }))) break;
    }
  };
}

async function crashRandomly(bench: Bench, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const operation = OPERATIONS[n % OPERATIONS.length] as Operation;
    await crash(bench, operation, { at: 1 + Math.floor(bench.random() * 4), when: bench.random() < 0.5 ? 'before' : 'after' });
  }
}

interface Point {
  /** Number of the request within the operation, from 1. */
  readonly at: number;
  readonly when: 'before' | 'after';
}

let crashes = 0;

/** Kills Purser at one request, restarts it, and waits for the operation. Returns false if there was no such request. */
async function crash(bench: Bench, operation: Operation, { at, when }: Point): Promise<boolean> {
  crashes += 1;
  const token = `two-crash-${crashes}`;
  const [first] = OPERATIONS;
  if (first !== undefined && first !== operation) await completeOperation(bench, first, token);
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  const purser = bench.purser;
  let requests = 0;
  const isPoint: Matcher = (request) => isTokenWork(request) && mayBelongTo(request.path, token) && ++requests === at;
  const act = async () => {
    await purser.kill();
    resolve();
  };
  for (const { proxy } of [bench.hub, ...bench.targets]) proxy.addRule(isPoint, { type: 'stop', when, act });
  await operation.begin(bench, token);
  const completed = bench.expect(
    'I10',
    `${operation.name} of ${token}, or the kill ${when} request ${at}`,
    CRASH_POINT_MS,
    async () => !purser.isRunning || (await operation.isDone(bench, token)),
  );
  await Promise.race([killed, completed]);
  await bench.heal();
  // The operation may complete before the process is killed.
  const wasKilled = requests >= at;
  if (wasKilled) {
    await killed;
    await bench.deleteLease();
    await bench.startPurser();
  }
  await bench.expect('I10', `${operation.name} of ${token}, after the kill ${when} request ${at}`, CRASH_POINT_MS, () =>
    operation.isDone(bench, token),
  );
  if (operation.name !== 'delete') await bench.deleteToken(token);
  return wasKilled;
}

/** Returns true if a request may belong to a token: reviews and created objects have no name in their path. */
function mayBelongTo(path: string, token: string): boolean {
  return path.includes(token) || /subjectaccessreviews|\/secrets(\?|$|\/purser-)|\/events(\?|$)/.test(path);
}

async function completeOperation(bench: Bench, { name, begin, isDone }: Operation, token: string): Promise<void> {
  await begin(bench, token);
  await bench.expect('I10', `${name} of ${token}`, CRASH_POINT_MS, () => isDone(bench, token));
  // Requested issuances are at least two seconds apart.
  await bench.wait(2_000);
}

export const crashFaults: readonly Scenario[] = [
  {
    id: 'F32',
    title: 'SIGKILL before and after every request of issuance, rotation, repair, revocation and deletion',
    on: 'purser',
    run: crashPoints(),
  },
];
