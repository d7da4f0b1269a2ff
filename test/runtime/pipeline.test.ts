// Informers, triggers, queue and report, wired as in controllers.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BehaviorSubject, filter, merge, mergeMap, takeUntil } from 'rxjs';
import { type ApiObject, ManagedTokens } from '../../src/api/resources.ts';
import { runController } from '../../src/runtime/controller.ts';
import { whenAborted, whileLeading } from '../../src/runtime/leadership.ts';
import { createStreamComponent, Lifecycle } from '../../src/runtime/lifecycle.ts';
import { report } from '../../src/runtime/report.ts';
import { planRetry } from '../../src/runtime/retry-policy.ts';
import {
  annotationsChanged,
  anyOf,
  generationChanged,
  mapToOwnerKeys,
  requestNow,
  toSelfKeys,
  whenSynced,
} from '../../src/runtime/trigger.ts';
import { createLogger } from '../../src/telemetry/logger.ts';
import { latestRetryAt } from '../../src/tokens/policy/rotation.ts';
import { turn } from '../kube/eventually.ts';
import { FakeClock } from '../support/clock.ts';
import { HandInformer } from './hand-informer.ts';
import { Runs } from './runs.ts';

const LIFETIME_MS = 600_000;

let clock: FakeClock;
let runs: Runs;
let tokens: HandInformer<ApiObject>;
let secrets: HandInformer<ApiObject>;
let leads$: BehaviorSubject<boolean>;
let reports: string[];
let lifecycle: Lifecycle;
let version = 0;

function object(name: string, more: ApiObject['metadata'] = {}): ApiObject {
  version += 1;
  return { metadata: { name, namespace: 'team-a', uid: name, generation: 1, resourceVersion: String(version), ...more } };
}

function outcomes(stopping: AbortSignal) {
  const live$ = merge(
    tokens.changes$.pipe(filter(anyOf(generationChanged, annotationsChanged('tokens.purser.dev/'))), mergeMap(toSelfKeys)),
    secrets.changes$.pipe(mergeMap(mapToOwnerKeys(ManagedTokens))),
  );
  const requests$ = whenSynced([tokens, secrets], () => tokens.store.keys(), live$).pipe(
    requestNow(clock),
    takeUntil(whenAborted(stopping)),
  );
  const expiresAt = clock.now() + LIFETIME_MS;
  const work$ = runController(requests$, {
    reconcile: runs.reconcile,
    retryPolicy: (failure) => planRetry(failure, { random: 0, resource: ManagedTokens, latestAt: latestRetryAt(expiresAt, failure.now) }),
    concurrency: 8,
    concurrencyPerLane: 2,
    priorityOf: () => ({ lane: 'prod-eu', deadlineAt: expiresAt }),
    clock,
  });
  const log = createLogger({ level: 'silent', readable: false, write: () => {} });
  const metrics = {
    recordRun: ({ outcome, reason = '' }: { readonly outcome: string; readonly reason: string | undefined }) =>
      reports.push(`${outcome} ${reason}`),
  };
  return whileLeading({ leads$, stopping, work$: work$.pipe(report({ controller: 'managed-token', log, metrics, clock })) });
}

beforeEach(async () => {
  clock = new FakeClock();
  runs = new Runs();
  tokens = new HandInformer();
  secrets = new HandInformer();
  leads$ = new BehaviorSubject(true);
  reports = [];
  const onDefect = (error: unknown) => reports.push(`defect ${String(error)}`);
  lifecycle = new Lifecycle([createStreamComponent({ name: 'controllers', stopMs: 20_000, run: outcomes, onDefect })], clock);
  await lifecycle.start();
  tokens.list(object('ci'), object('cd'));
  secrets.list();
  await turn();
});

afterEach(() => void lifecycle.stop());

async function succeed(...keys: readonly string[]): Promise<void> {
  for (const key of keys) runs.succeed(key, { requeueAt: clock.now() + 480_000 });
  await turn();
}

describe('runtime pipeline', () => {
  it('reconciles every object once after the sync and again at its requeue time', async () => {
    expect(runs.running).toEqual(['team-a/ci', 'team-a/cd']);
    await succeed('team-a/ci', 'team-a/cd');
    expect([reports, clock.pending]).toEqual([['reconciled ', 'reconciled '], 1]);
    clock.advance(480_000);
    expect(runs.running).toEqual(['team-a/ci', 'team-a/cd']);
  });

  it('reconciles an object only after matching changes', async () => {
    await succeed('team-a/ci', 'team-a/cd');
    tokens.apply(object('ci', { labels: { tier: 'prod' } }));
    await turn();
    expect(runs.running).toEqual([]);
    tokens.apply(object('ci', { annotations: { 'tokens.purser.dev/rotate': '1' } }));
    const reference = { apiVersion: 'tokens.purser.dev/v1alpha1', kind: 'ManagedToken', name: 'cd', uid: 'cd' };
    secrets.apply(object('cd', { ownerReferences: [reference] }));
    await turn();
    expect(runs.running).toEqual(['team-a/ci', 'team-a/cd']);
  });

  it('retries failures within a fifth of the remaining validity', async () => {
    await succeed('team-a/cd');
    const expiresAt = clock.now() + LIFETIME_MS;
    for (let failures = 1; failures <= 12; failures++) {
      runs.fail('team-a/ci');
      await turn();
      clock.advance(Math.floor((expiresAt - clock.now()) / 5));
      expect(runs.running).toContain('team-a/ci');
    }
    expect(reports.slice(1)).toEqual(Array.from({ length: 12 }, () => 'transient Defect'));
  });

  it('completes running reconciles on stop, and leaves no timer or informer', async () => {
    const stopped = lifecycle.stop();
    tokens.apply(object('late'));
    await succeed('team-a/ci', 'team-a/cd');
    expect(await stopped).toEqual([]);
    expect([runs.started.length, clock.pending, tokens.runs, secrets.runs]).toEqual([2, 0, false, false]);
  });

  it('stops on lost leadership and restarts in the next term', async () => {
    const signal = runs.signalOf('team-a/ci');
    leads$.next(false);
    expect([signal.aborted, tokens.runs, clock.pending]).toEqual([true, false, 0]);
    leads$.next(true);
    tokens.list(object('ci'));
    secrets.list();
    await turn();
    expect(runs.started).toEqual(['team-a/ci', 'team-a/cd', 'team-a/ci']);
  });
});
