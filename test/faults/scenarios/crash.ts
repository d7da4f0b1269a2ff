// SIGKILL before and after every request in the life of a token, each followed by a new process (F32).

import { Annotation } from '../../../src/api/names.ts';
import { paths } from '../api.ts';
import type { Bench } from '../bench.ts';
import { isTokenWork, type Matcher } from '../proxy/rules.ts';
import type { Scenario } from '../scenario.ts';
import { TEAM } from '../seed.ts';

/** Operation on a token: its trigger and its result. */
interface Chapter {
  readonly name: string;
  readonly begin: (bench: Bench, token: string) => Promise<void>;
  readonly isOver: (bench: Bench, token: string) => Promise<boolean>;
}

const isWell = async (bench: Bench, token: string) =>
  (await bench.tokens()).includes(token) && (await bench.unwell()).every((text) => !text.startsWith(`${token}:`));

const CHAPTERS: readonly Chapter[] = [
  {
    name: 'issue',
    begin: async (bench, token) => void (await bench.createToken(token, 'two', { revocation: 'BoundSecret' })),
    isOver: isWell,
  },
  { name: 'rotate', begin: (bench, token) => bench.rotate(token), isOver: isWell },
  {
    name: 'repair',
    begin: async (bench, token) => {
      bench.cause(token, 'Secret deleted');
      bench.excuse(token, ['I1', 'I12'], 30_000, 'Secret deleted');
      await bench.hub.api.delete(paths.secrets(TEAM, token));
    },
    isOver: isWell,
  },
  {
    name: 'revoke',
    begin: async (bench, token) => {
      bench.excuse(token, ['I1', 'I9', 'I12'], 30_000, 'revoked');
      await bench.annotate(token, Annotation.revoke);
    },
    isOver: isWell,
  },
  {
    name: 'delete',
    begin: (bench, token) => bench.deleteToken(token),
    isOver: async (bench, token) => !(await bench.tokens()).includes(token) && (await bench.tokenText(token)) === '',
  },
];

const POINT_MS = 40_000;
/** Upper bound for the requests of an operation. */
const MOST = 20;

/** Returns a scenario that crashes Purser at each request of each operation, or at some random requests. */
export function crashPoints(drawn = Infinity): (bench: Bench) => Promise<void> {
  return async (bench) => {
    if (drawn !== Infinity) return await someCrashes(bench, drawn);
    const sides = CHAPTERS.flatMap((chapter) => (['before', 'after'] as const).map((when) => ({ chapter, when })));
    for (const { chapter, when } of sides) {
      for (let at = 1; at <= MOST; at += 1) if (!(await crash(bench, chapter, { at, when }))) break;
    }
  };
}

async function someCrashes(bench: Bench, drawn: number): Promise<void> {
  for (let n = 0; n < drawn; n += 1) {
    const chapter = CHAPTERS[n % CHAPTERS.length] as Chapter;
    await crash(bench, chapter, { at: 1 + Math.floor(bench.random() * 4), when: bench.random() < 0.5 ? 'before' : 'after' });
  }
}

interface Point {
  /** Number of the request within the operation, from 1. */
  readonly at: number;
  readonly when: 'before' | 'after';
}

let crashes = 0;

/** Kills Purser at one request, restarts it, and waits for the operation. Returns false if there was no such request. */
async function crash(bench: Bench, chapter: Chapter, { at, when }: Point): Promise<boolean> {
  crashes += 1;
  const token = `two-crash-${crashes}`;
  const [first] = CHAPTERS;
  if (first !== undefined && first !== chapter) await lived(bench, first, token);
  const { promise: killed, resolve } = Promise.withResolvers<void>();
  const purser = bench.purser;
  let count = 0;
  const isPoint: Matcher = (request) => isTokenWork(request) && concerns(request.path, token) && ++count === at;
  const act = async () => {
    await purser.kill();
    resolve();
  };
  for (const { proxy } of [bench.hub, ...bench.targets]) proxy.rule(isPoint, { type: 'stop', when, act });
  await chapter.begin(bench, token);
  const over = bench.expect(
    'I10',
    `${chapter.name} of ${token}, killed ${when} request ${at}`,
    POINT_MS,
    async () => !purser.isRunning || (await chapter.isOver(bench, token)),
  );
  await Promise.race([killed, over]);
  await bench.heal();
  // The operation may complete before the process is killed.
  const wasKilled = count >= at;
  if (wasKilled) {
    await killed;
    await bench.freeLease();
    await bench.startPurser();
  }
  await bench.expect('I10', `${chapter.name} of ${token}, killed ${when} request ${at}`, POINT_MS, () => chapter.isOver(bench, token));
  if (chapter.name !== 'delete') await bench.deleteToken(token);
  return wasKilled;
}

/** Returns true if a request may belong to a token: reviews and created objects have no name in their path. */
function concerns(path: string, token: string): boolean {
  return path.includes(token) || /subjectaccessreviews|\/secrets(\?|$|\/purser-)|\/events(\?|$)/.test(path);
}

async function lived(bench: Bench, { name, begin, isOver }: Chapter, token: string): Promise<void> {
  await begin(bench, token);
  await bench.expect('I10', `${name} of ${token}`, POINT_MS, () => isOver(bench, token));
  // Requested issuances are at least two seconds apart.
  await bench.pass(2_000);
}

export const crashFaults: readonly Scenario[] = [
  { id: 'F32', title: 'SIGKILL before and after every request of issue, rotate, repair, revoke, delete', on: 'purser', run: crashPoints() },
];
