// Measures the web UI in Chromium with a façade, and prints JSON: `node test/browser/measure.ts [TOKENS]`.

import { setTimeout as delay } from 'node:timers/promises';
import type { Browser } from 'puppeteer-core';
import { Assets } from '../../src/ui/assets.ts';
import { measureUsage, round, type Usage } from '../bench/process-usage.ts';
import { ADMIN } from '../bench/registry-world.ts';
import { addToken, causeEvents, startUiWorld, VIEWER } from '../bench/ui-world.ts';
import { WatchCrowd } from '../bench/watch-crowd.ts';
import { parseExposition } from '../support/exposition.ts';
import { launchBrowser, Tab } from './browser.ts';

const CLUSTERS = 1_000;
const RATE = { changes: 300, hidden: 200, seconds: 10 };
/** Time after which the façade has freed the memory of the lists that a client read, in milliseconds. */
const SETTLE_MS = 10_000;
const IDLE_MS = 30_000;
/** Lists that the page watches. */
const LISTS = ['/auth/v1/clusters', '/auth/v1/managedtokens'];

type World = Awaited<ReturnType<typeof startUiWorld>>;

interface PageFigures {
  /** Time from the first byte of the page to the first rows, in milliseconds. */
  firstRowsMs?: number;
  /** Durations of tasks above 50 ms since the last reset, in milliseconds. */
  longTasks: number[];
  frames: number;
}

/** Logs in as soon as the page allows it, and records figures. The Content-Security-Policy applies to the page, not to this function. */
function observePage(token: string): void {
  const figures: PageFigures = { longTasks: [], frames: 0 };
  Object.assign(globalThis, { figures });
  new PerformanceObserver((list) => figures.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({
    type: 'longtask',
  });
  const look = () => {
    figures.frames += 1;
    const login = document.querySelector<HTMLInputElement>('#token');
    if (login !== null && login.value === '') {
      login.value = token;
      login.form?.requestSubmit();
    }
    const [navigation] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
    const since = performance.now() - (navigation?.responseStart ?? 0);
    if (document.querySelector('.space .row') !== null) figures.firstRowsMs ??= since;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Start by the monotonic clock, in microseconds. */
  readonly ts: number;
  /** CPU time, in microseconds. */
  readonly tdur?: number;
  readonly args: { readonly name?: string };
}

/** Returns the longest CPU time of a task of the main thread of any page since a time, in milliseconds. */
function longestCpuMs(events: readonly TraceEvent[], since: number): number {
  const mains = new Set(
    events.flatMap(({ name, pid, tid, args }) => (name === 'thread_name' && args.name === 'CrRendererMain' ? [`${pid} ${tid}`] : [])),
  );
  const tasks = events.filter(({ name, pid, tid, ts }) => ts >= since && name.endsWith('RunTask') && mains.has(`${pid} ${tid}`));
  if (tasks.length === 0) throw new Error('the trace has no tasks');
  return tasks.reduce((longest, { tdur = 0 }) => Math.max(longest, tdur / 1_000), 0);
}

const figuresOf = (tab: Tab) => tab.page.evaluate(() => ({ ...(globalThis as unknown as { figures: PageFigures }).figures }));

/** Opens the login of the page before the measurements, because Chromium starts processes for its first page. Tabs share no cache. */
async function warmUp(browser: Browser, { facade }: World): Promise<void> {
  await using tab = await Tab.open(browser);
  await tab.page.goto(`${facade.url}/ui/`);
  await tab.page.waitForSelector('#token');
}

/** Opens the page, logs in, and waits until all tokens are drawn and watched. */
async function openPage(browser: Browser, { facade }: World, tokens: number, user = ADMIN): Promise<Tab> {
  const tab = await Tab.open(browser);
  const total = tokens.toLocaleString('en-US');
  await tab.page.evaluateOnNewDocument(observePage, user);
  await tab.page.goto(`${facade.url}/ui/#/tokens`);
  await tab.untilText('.foot', `${total} tokens`);
  await tab.untilLive();
  return tab;
}

/** Opens the page, and returns the time until it shows the first rows. */
async function measureRows(browser: Browser, world: World, tokens: number) {
  await using tab = await openPage(browser, world, tokens);
  const { firstRowsMs } = await figuresOf(tab);
  return { firstRowsMs };
}

/** Changes, hides and shows tokens while a page shows them. */
async function measureEvents(browser: Browser, world: World, tokens: number) {
  await using tab = await openPage(browser, world, tokens, VIEWER);
  // The start of the trace is a long task itself.
  await tab.page.tracing.start({ categories: ['toplevel', 'devtools.timeline'] });
  await delay(1_000);
  await tab.page.evaluate(() => Object.assign((globalThis as unknown as { figures: PageFigures }).figures, { longTasks: [], frames: 0 }));
  const { Timestamp: since = 0 } = await tab.page.metrics();
  const startedAt = performance.now();
  const sizes = { clusters: CLUSTERS, tokens };
  const eventsPerSecond = Math.round(await causeEvents(world, sizes, RATE));
  // Events arrive in order, so the page has all of them as soon as it shows one more token.
  await addToken(world, sizes);
  await tab.untilText('.foot', `${(tokens + 1).toLocaleString('en-US')} tokens`);
  const seconds = (performance.now() - startedAt) / 1_000;
  const trace = JSON.parse(Buffer.from((await tab.page.tracing.stop()) ?? []).toString()) as {
    readonly traceEvents: readonly TraceEvent[];
  };
  const { longTasks, frames } = await figuresOf(tab);
  return {
    eventsPerSecond,
    longestTaskMs: Math.max(0, ...longTasks),
    longestCpuMs: longestCpuMs(trace.traceEvents, since * 1_000_000),
    longTasks: longTasks.length,
    framesPerSecond: Math.round(frames / seconds),
  };
}

/** Usage of the façade with an idle client, and the numbers of requests and of open watches. */
interface Idle extends Usage {
  readonly requests: number;
  readonly watches: number;
}

async function measureIdle({ facade }: World): Promise<Idle> {
  await delay(SETTLE_MS);
  const before = await readRequests(facade.metrics);
  const usage = await measureUsage(facade.pid);
  await delay(IDLE_MS);
  const used = await usage();
  const { requests, watches } = await readRequests(facade.metrics);
  return { ...used, requests: requests - before.requests, watches };
}

/** Reads the number of completed requests and of open watches from the metrics of the façade. */
async function readRequests(metrics: string): Promise<Pick<Idle, 'requests' | 'watches'>> {
  const families = parseExposition(await (await fetch(`${metrics}/metrics`)).text());
  const sumOf = (name: string) => [...(families.get(name)?.samples.values() ?? [])].reduce((sum, value) => sum + value, 0);
  return { requests: sumOf('purser_http_requests_total'), watches: sumOf('purser_watchers') };
}

/** Measures the façade with an idle plain client that watches the lists of the page from their first object on. */
async function measureIdleClient(world: World, tokens: number): Promise<Idle> {
  const crowd = new WatchCrowd();
  for (const path of LISTS) await crowd.open({ ...world.facade, path }, { watchers: 1, token: ADMIN });
  await crowd.waitForEvents(CLUSTERS + tokens);
  const idle = await measureIdle(world);
  crowd.close();
  return idle;
}

async function measureIdlePage(browser: Browser, world: World, tokens: number): Promise<Idle> {
  await using _ = await openPage(browser, world, tokens);
  return await measureIdle(world);
}

/** Compares an idle page with an idle plain client, in the order client, page, page, client: the memory of a process grows with its age. */
async function compareIdle(browser: Browser, world: World, tokens: number) {
  const first = await measureIdleClient(world, tokens);
  const pages = [await measureIdlePage(browser, world, tokens), await measureIdlePage(browser, world, tokens)];
  const clients = [first, await measureIdleClient(world, tokens)];
  return { seconds: (2 * IDLE_MS) / 1_000, page: summaryOf(pages), client: summaryOf(clients) };
}

/** Returns the means of the usage, the sum of the requests, and the largest number of watches. */
function summaryOf(rounds: readonly Idle[]) {
  const mean = (of: (idle: Idle) => number) => round(rounds.reduce((sum, idle) => sum + of(idle), 0) / rounds.length);
  return {
    cpuPercent: mean(({ cpuPercent }) => cpuPercent),
    rssMegabytes: mean(({ rssMegabytes }) => rssMegabytes),
    requests: rounds.reduce((sum, { requests }) => sum + requests, 0),
    watches: Math.max(...rounds.map(({ watches }) => watches)),
  };
}

const [count = '10000'] = process.argv.slice(2);
const tokens = Number(count);
const world = await startUiWorld({ clusters: CLUSTERS, tokens });
const browser = await launchBrowser();
try {
  await warmUp(browser, world);
  // The façade follows ManagedTokens from the first request on, and until ten minutes after the last.
  const first = await measureRows(browser, world, tokens);
  const rows = await measureRows(browser, world, tokens);
  const events = await measureEvents(browser, world, tokens);
  const idle = await compareIdle(browser, world, tokens + 1);
  const { compressedBytes } = await Assets.load({ needsLogin: true });
  console.log(JSON.stringify({ tokens, first, ...rows, ...events, idle, compressedBytes }));
} finally {
  await browser.close();
  await world.stop();
}
process.exit();
