import { beforeEach, describe, expect, it } from '@jest/globals';
import { Subject } from 'rxjs';
import type { ManagedToken } from '../../../src/api/managed-token.gen.ts';
import type { ApiObject, ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '../../../src/api/resources.ts';
import { computeWatchLimits } from '../../../src/facade/limits/concurrency.ts';
import { createSharedLimits } from '../../../src/facade/listwatch/list-endpoints.ts';
import { createOnDemandList } from '../../../src/facade/listwatch/on-demand.ts';
import { MANAGED_TOKEN_LIST } from '../../../src/facade/managed-tokens/managed-token-list.ts';
import { combineInformers, type Informer, type ListWatchProblem } from '../../../src/kube/informer.ts';
import { serviceUnavailable, statusError } from '../../../src/kubernetes/status.ts';
import { HandInformer } from '../../runtime/hand-informer.ts';
import { FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/silent-log.ts';
import { callerOf, HandHub, ListReplica, settle } from './replica.ts';

const ADMIN = callerOf('admin', 'system:masters');
const IDLE_MS = 600_000;
const STALE_MS = 300_000;
const FORBIDDEN = statusError('Forbidden', 'roles.rbac.authorization.k8s.io is forbidden: User "system:serviceaccount:x" cannot list', {});

const NO_PERMISSION =
  'Purser lacks a permission on the hub to list or watch managedtokens, roles or rolebindings. ' +
  'Ask an administrator to grant Purser the permission that its log names.';

/** An informer of the test that can also fail. */
class FailingInformer<T extends ApiObject> extends HandInformer<T> implements Informer<T> {
  readonly problems$ = new Subject<ListWatchProblem>();

  fail(error: unknown): void {
    this.problems$.next({ error, retryMs: 1_000 });
  }
}

/** Informers of one period. */
class Started {
  readonly objects = new FailingInformer<ManagedToken>();
  /** The Roles in two namespaces. */
  readonly roleParts = [new FailingInformer<Role>(), new FailingInformer<Role>()] as const;
  readonly roles = combineInformers<Role>(this.roleParts);
  readonly bindings = new FailingInformer<RoleBinding>();

  /** Receives the first lists. */
  sync(...tokens: readonly ManagedToken[]): void {
    for (const part of this.roleParts) part.list();
    this.bindings.list();
    this.objects.list(...tokens);
  }

  get all(): readonly FailingInformer<never>[] {
    return [this.objects, ...this.roleParts, this.bindings] as readonly unknown[] as readonly FailingInformer<never>[];
  }

  get runs(): readonly boolean[] {
    return this.all.map(({ runs }) => runs);
  }
}

let clock: FakeClock;
let periods: Started[];
let problems: ListWatchProblem[];
let replica: ListReplica;
let stop: () => void;

beforeEach(() => {
  clock = new FakeClock();
  periods = [];
  problems = [];
  const random = () => 0.5;
  const [roles, bindings] = [new HandInformer<ClusterRole>(), new HandInformer<ClusterRoleBinding>()];
  const list = createOnDemandList({
    list: MANAGED_TOKEN_LIST,
    createInformers: () => {
      const started = new Started();
      periods.push(started);
      return started;
    },
    onProblem: (problem) => problems.push(problem),
    roles,
    bindings,
    hub: new HandHub(),
    clock,
    random,
    log: silentLog,
    limits: createSharedLimits([MANAGED_TOKEN_LIST], { clock, random, watchLimits: computeWatchLimits(undefined) }),
  });
  replica = new ListReplica(clock, list, {});
  const running = list.run();
  stop = () => running.unsubscribe();
});

function tokenOf(name: string): ManagedToken {
  return { metadata: { name, namespace: 'team-a', uid: name, resourceVersion: '7' }, spec: {} } as unknown as ManagedToken;
}

async function listNames(): Promise<readonly string[]> {
  const { status, body } = await replica.get('', ADMIN);
  expect(status).toBe(200);
  return body.items.map(({ metadata }) => metadata.name);
}

/** Sends the first request, and lets the informers sync. */
async function start(...tokens: readonly ManagedToken[]): Promise<readonly string[]> {
  const names = listNames();
  await settle();
  periods.at(-1)?.sync(...tokens);
  return names;
}

/** Lets the time pass, with a bookmark from the hub every minute for these informers. */
function passTime(ms: number, informers = periods.at(-1)?.all ?? []): void {
  for (let leftMs = ms; leftMs > 0; leftMs -= 60_000) {
    for (const informer of informers) if (informer.runs) informer.bookmark();
    clock.advance(Math.min(leftMs, 60_000));
  }
}

describe('createOnDemandList', () => {
  it('creates no informers before the first request', () => {
    expect([periods.length, clock.pending]).toEqual([0, 0]);
  });

  it('starts the informers with the first request, which waits until all of them are synced', async () => {
    const listed = listNames();
    await settle();
    const [first] = periods as [Started];
    expect(first.runs).toEqual([true, true, true, true]);
    first.objects.list(tokenOf('a'));
    first.bindings.list();
    await settle();
    const order: string[] = [];
    void listed.then(() => order.push('listed'));
    await settle();
    expect(order).toEqual([]);
    for (const part of first.roleParts) part.list();
    expect(await listed).toEqual(['a']);
  });

  it('creates the informers once for concurrent requests', async () => {
    const both = Promise.all([listNames(), listNames()]);
    await settle();
    periods[0]?.sync(tokenOf('a'));
    expect(await both).toEqual([['a'], ['a']]);
    expect(periods).toHaveLength(1);
  });

  it('returns 503 if the first list takes more than five seconds, and returns the objects once it completes', async () => {
    const early = replica.get('', ADMIN);
    await settle();
    clock.advance(5_000);
    expect(await early).toMatchObject({
      status: 503,
      body: {
        message: "Purser has not listed the managedtokens on the hub yet. Try again; if the error persists, check Purser's log.",
      },
    });
    periods[0]?.sync(tokenOf('a'));
    expect(await listNames()).toEqual(['a']);
  });

  it('responds with 503 immediately while the hub rejects an informer, without the name of the service account', async () => {
    const waiting = replica.get('', ADMIN);
    await settle();
    periods[0]?.roleParts[0].fail(FORBIDDEN);
    const responses = [await waiting, await replica.get('', ADMIN), await replica.getOne('a', ADMIN, { namespace: 'team-a' })];
    for (const { status, text } of responses) {
      expect(status).toBe(503);
      expect(text).toContain(NO_PERMISSION);
      expect(text).not.toContain('serviceaccount');
    }
    expect(problems.map(({ error }) => error)).toEqual([FORBIDDEN]);
  });

  it('returns the objects as soon as the missing permission is granted', async () => {
    const rejected = replica.get('', ADMIN);
    await settle();
    periods[0]?.roleParts[0].fail(FORBIDDEN);
    expect((await rejected).status).toBe(503);
    periods[0]?.sync(tokenOf('a'));
    expect(await listNames()).toEqual(['a']);
  });

  it('waits for the first list after an error other than a missing permission', async () => {
    const listed = listNames();
    await settle();
    periods[0]?.objects.fail(serviceUnavailable('down', 1));
    periods[0]?.sync(tokenOf('a'));
    expect(await listed).toEqual(['a']);
  });

  it.each([0, 1, 2, 3])('responds with 503 once the hub forbids the objects of informer %i, which it listed before', async (at) => {
    await start(tokenOf('a'));
    periods[0]?.all[at]?.fail(FORBIDDEN);
    expect(await replica.get('', ADMIN)).toMatchObject({ status: 503, body: { message: NO_PERMISSION } });
    expect([periods[0]?.runs, clock.pending]).toEqual([[false, false, false, false], 0]);
  });

  it('starts no informers for 30 s after the hub forbade a listed kind, then new ones with the next request', async () => {
    await start(tokenOf('a'));
    periods[0]?.roleParts[0].fail(FORBIDDEN);
    clock.advance(29_999);
    expect((await replica.get('', ADMIN)).status).toBe(503);
    expect(periods).toHaveLength(1);
    clock.advance(1);
    expect(await start(tokenOf('b'))).toEqual(['b']);
  });

  it('ends watches with 410 once the hub forbids a listed kind', async () => {
    await start(tokenOf('a'));
    const stream = await replica.watch('', ADMIN);
    periods[0]?.bindings.fail(FORBIDDEN);
    await settle();
    expect(stream.take().at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect(stream.writableEnded).toBe(true);
  });

  it('keeps the list while a watch of the hub fails for less than five minutes', async () => {
    await start(tokenOf('a'));
    clock.advance(STALE_MS - 1);
    periods[0]?.roleParts[0].fail(serviceUnavailable('down', 1));
    expect(await listNames()).toEqual(['a']);
    for (const informer of periods[0]?.all ?? []) informer.bookmark();
    clock.advance(STALE_MS - 1);
    expect(await listNames()).toEqual(['a']);
  });

  it.each([0, 1, 2, 3])('ends watches and stops the informers after five minutes without an event for informer %i', async (silent) => {
    await start(tokenOf('a'));
    const stream = await replica.watch('timeoutSeconds=3000', ADMIN);
    const others = periods[0]?.all.filter((_, index) => index !== silent);
    passTime(STALE_MS - 1, others);
    expect([stream.writableEnded, await listNames()]).toEqual([false, ['a']]);
    clock.advance(1);
    await settle();
    expect(stream.take().at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect([stream.writableEnded, periods[0]?.runs, clock.pending]).toEqual([true, [false, false, false, false], 0]);
    const next = replica.get('', ADMIN);
    await settle();
    clock.advance(5_000);
    expect((await next).status).toBe(503);
    periods[1]?.sync(tokenOf('b'));
    expect(await listNames()).toEqual(['b']);
  });

  it('ends a watch with 410 if the hub forbids a listed kind while the watch starts', async () => {
    await start(tokenOf('a'));
    const caller = {
      ...ADMIN,
      get isValid() {
        periods[0]?.roleParts[0].fail(FORBIDDEN);
        return true;
      },
    };
    const stream = await replica.watch('', caller);
    expect(stream.take().at(-1)).toMatchObject({ type: 'ERROR', object: { code: 410 } });
    expect(stream.writableEnded).toBe(true);
  });

  it('stops the informers ten minutes after the last request, and starts new informers with the next request', async () => {
    await start(tokenOf('a'));
    passTime(IDLE_MS - 1);
    expect(await listNames()).toEqual(['a']);
    passTime(IDLE_MS - 1);
    expect(periods[0]?.runs).toEqual([true, true, true, true]);
    clock.advance(1);
    expect([periods[0]?.runs, clock.pending]).toEqual([[false, false, false, false], 0]);
    expect(await start(tokenOf('b'))).toEqual(['b']);
    expect(periods).toHaveLength(2);
  });

  it('keeps the informers running while a watch is open', async () => {
    await start();
    const stream = await replica.watch('timeoutSeconds=3000', ADMIN);
    passTime(2 * IDLE_MS);
    periods[0]?.objects.apply(tokenOf('b'));
    await settle();
    expect(stream.take().map(({ type }) => type)).toEqual(['ADDED']);
    stream.leave();
    await settle();
    passTime(2 * IDLE_MS);
    expect(periods[0]?.runs).toEqual([false, false, false, false]);
  });

  it('stops the informers when the list itself is stopped', async () => {
    await start();
    stop();
    expect([periods[0]?.runs, clock.pending]).toEqual([[false, false, false, false], 0]);
  });
});
