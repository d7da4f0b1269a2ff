// Purser as a separate process whose clock the bench can shift and whose event loop it can block.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeOptions } from '../bench/purser-process.ts';
import { type Program, startProgram } from '../support/processes.ts';
import type { History } from './history.ts';

export interface PurserOptions {
  readonly kubeconfig: string;
  /** Folder for the log and the control files. */
  readonly folder: string;
  readonly history: History;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Offset of the process's clock, in milliseconds. */
  readonly skewMs?: number;
  /** Command that starts Purser, such as a shell that sets limits first. */
  readonly wrapper?: readonly string[];
}

const ROOT = join(import.meta.dirname, '../..');
const PRELOAD = join(import.meta.dirname, '../support/fault-preload-process.ts');
const SETTINGS = ['--allow-loopback', '--verify-interval', '20s', '--facade-port', '0', '--metrics-port', '0', '--metrics-auth', 'none'];
/** Limit for a stop; longer than Purser's own shutdown timeout. */
const STOP_MS = 40_000;
let started = 0;

interface Files {
  readonly log: string;
  readonly faults: string;
  readonly ready: string;
}

/** Addresses in the ready file. */
interface Addresses {
  readonly facade: string;
  readonly metrics: string;
}

/** A process of Purser. */
export class Purser {
  readonly log: string;
  readonly #program: Program;
  readonly #faultsFile: string;
  readonly #readyFile: string;
  readonly #history: History;

  private constructor(program: Program, files: Files, history: History) {
    this.#program = program;
    this.log = files.log;
    this.#faultsFile = files.faults;
    this.#readyFile = files.ready;
    this.#history = history;
    history.add({ type: 'process', event: 'start', pid: program.pid });
  }

  static async start(options: PurserOptions): Promise<Purser> {
    const { folder, history, kubeconfig, args = [], wrapper = [], skewMs = 0 } = options;
    started += 1;
    const file = (name: string) => join(folder, `purser-${started}.${name}`);
    const files: Files = { log: file('log'), faults: file('faults'), ready: file('ready') };
    await writeFile(files.faults, JSON.stringify({ skewMs }));
    const { NODE_OPTIONS: _, ...inherited } = process.env;
    const env = { ...inherited, KUBECONFIG: kubeconfig, PURSER_LOG_LEVEL: 'trace', TEST_FAULTS: files.faults, ...options.env };
    const command = [
      ...wrapper,
      process.execPath,
      // Without these options, the process keeps a multiple of the memory that it uses.
      ...(await nodeOptions()),
      '--import',
      PRELOAD,
      join(ROOT, 'src/main.ts'),
      'run',
      ...SETTINGS,
      '--ready-file',
      files.ready,
      ...args,
    ];
    const program = await startProgram(command[0] ?? '', command.slice(1), files.log, { env, cwd: folder });
    return new Purser(program, files, history);
  }

  get pid(): number {
    return this.#program.pid;
  }

  get isRunning(): boolean {
    return this.#program.isRunning();
  }

  /** Ends the process with SIGKILL. */
  async kill(): Promise<void> {
    if (!this.isRunning) return;
    this.#history.add({ type: 'process', event: 'crash', pid: this.pid });
    this.#program.signal('SIGKILL');
    await this.#program.ended;
  }

  /** Ends the process with SIGTERM; returns the time that it took, in milliseconds. */
  async stop(): Promise<number> {
    const startedAt = performance.now();
    if (this.isRunning) this.#history.add({ type: 'process', event: 'stop', pid: this.pid });
    await this.#program.stop(STOP_MS);
    return performance.now() - startedAt;
  }

  pause(): void {
    this.#history.add({ type: 'process', event: 'pause', pid: this.pid });
    this.#program.signal('SIGSTOP');
  }

  resume(): void {
    this.#history.add({ type: 'process', event: 'resume', pid: this.pid });
    this.#program.signal('SIGCONT');
  }

  /** Shifts the clock of the process, or blocks its event loop. */
  async inject(faults: { readonly skewMs?: number; readonly blockMs?: number }): Promise<void> {
    await writeFile(this.#faultsFile, JSON.stringify(faults));
    this.#program.signal('SIGUSR2');
  }

  /** Waits until the process serves; returns its addresses. */
  async waitForAddresses(): Promise<Addresses> {
    for (;;) {
      const text = await readFile(this.#readyFile, 'utf8').catch(() => '');
      if (text !== '') return JSON.parse(text) as Addresses;
      if (!this.isRunning) throw new Error('Purser exited before it was ready.');
      await delay(100);
    }
  }

  /** Returns the log of the process. */
  readLog(): Promise<string> {
    return this.#program.output();
  }
}
