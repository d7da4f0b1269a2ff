// `npm run test:fuzz`: compares the façade with a real kube-apiserver on random requests.

import { setTimeout as delay } from 'node:timers/promises';
import { readOptions } from '../support/command-line.ts';
import { differencesFor } from './differences.ts';
import { expectationFor } from './expectation.ts';
import { requestOf } from './grammar.ts';
import { withoutProtobuf } from './http-differences.ts';
import { type FuzzOptions, HELP, parseOptions } from './options.ts';
import { formatFailure } from './report.ts';
import { type FuzzRequest, isWatch, type Side } from './request.ts';
import { type Comparable, toComparable } from './response.ts';
import { World } from './world.ts';

const SIDES: readonly Side[] = ['kube', 'facade'];
/** Number of slow requests that are sent at once. */
const BATCH = 24;
/** Time from the last response head of a batch until the client ends its watches, in milliseconds; `timeoutSeconds` of most of them. */
const WATCH_MS = 5_000;

/** One run: sends requests in order, except watches and other slow requests, which are sent in batches. */
class Run {
  readonly #options: FuzzOptions;
  readonly #world: World;
  readonly #waiting: number[] = [];
  readonly #rows = new Map<string, number>();
  compared = 0;
  failures = 0;

  constructor(options: FuzzOptions, world: World) {
    this.#options = options;
    this.#world = world;
  }

  get isOver(): boolean {
    return this.failures >= this.#options.failures;
  }

  async send(number: number): Promise<void> {
    const request = this.#request(number);
    if (isSlow(request)) {
      this.#waiting.push(number);
      if (this.#waiting.length === BATCH) await this.flush();
      return;
    }
    const [kube, facade] = await Promise.all([this.#world.send('kube', request), this.#world.send('facade', request)]);
    await this.#compare(number, toComparable('kube', request, kube), toComparable('facade', request, facade));
  }

  /** Sends the waiting requests at once, changes an object of each list while they run, and compares the responses. */
  async flush(): Promise<void> {
    const numbers = this.#waiting.splice(0);
    if (numbers.length === 0) return;
    const cut = new AbortController();
    const heads: Promise<void>[] = [];
    const responses = numbers.map(async (number) => {
      const request = this.#request(number);
      const sides = SIDES.map((side) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        const response = this.#world.send(side, request, { onHead: resolve, cut: cut.signal }).finally(resolve);
        heads.push(promise);
        return response;
      });
      return { number, request, responses: await Promise.all(sides) };
    });
    await Promise.race([Promise.all(heads), delay(WATCH_MS / 2)]);
    await this.#world.change();
    await Promise.all(heads);
    const timer = setTimeout(() => cut.abort(), WATCH_MS);
    const complete = await Promise.all(responses);
    clearTimeout(timer);
    for (const { number, request, responses: both } of complete) {
      const [kube, facade] = both.map((response, index) => toComparable(SIDES[index] as Side, request, response)) as [
        Comparable,
        Comparable,
      ];
      await this.#compare(number, kube, facade);
    }
  }

  async #compare(number: number, kube: Comparable, facade: Comparable): Promise<void> {
    this.compared += 1;
    const request = this.#request(number);
    const resend = async (other: FuzzRequest) => toComparable('kube', other, await this.#world.send('kube', withoutProtobuf(other)));
    const { response: expected, rows } = await expectationFor({ request, kube, resend }, differencesFor(request, kube));
    for (const row of rows) this.#rows.set(row, (this.#rows.get(row) ?? 0) + 1);
    if (JSON.stringify(expected) === JSON.stringify(facade)) return;
    this.failures += 1;
    const targets = { kube: await this.#world.targetOn('kube', request), facade: await this.#world.targetOn('facade', request) };
    console.log(`${formatFailure({ seed: this.#options.seed, number, request, targets, kube, expected, facade, rows })}\n`);
  }

  /** Prints how often each documented difference applied. */
  printRows(): void {
    for (const [row, count] of [...this.#rows].sort(([, a], [, b]) => b - a)) console.log(`${String(count).padStart(6)}  ${row}`);
  }

  #request(number: number): FuzzRequest {
    return requestOf(this.#options.seed, number);
  }
}

/** Returns true for a request whose response can take seconds. */
function isSlow(request: FuzzRequest): boolean {
  return isWatch(request) || request.query.includes('future');
}

async function main(options: FuzzOptions): Promise<boolean> {
  const { seed, requests, only } = options;
  console.log(`seed ${seed}, ${only === undefined ? `${requests} requests` : `request ${only}`}; starting kube-apiserver and façade`);
  const world = await World.start();
  try {
    const run = new Run(options, world);
    const [first, last] = only === undefined ? [1, requests] : [only, only];
    for (let number = first; number <= last && !run.isOver; number += 1) {
      await run.send(number);
      if (number % 500 === 0) console.log(`${number} requests, ${run.failures} undocumented differences`);
    }
    if (!run.isOver) await run.flush();
    run.printRows();
    const isComplete = run.compared === last - first + 1;
    console.log(`seed ${seed}: ${run.compared} requests compared, ${run.failures} undocumented differences`);
    return isComplete && run.failures === 0;
  } finally {
    await world.stop();
  }
}

const options = readOptions(() => parseOptions(process.argv.slice(2), Math.random));
if (options === undefined) console.log(HELP);
else process.exitCode = (await main(options)) ? 0 : 1;
