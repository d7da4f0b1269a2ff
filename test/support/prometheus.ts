// Prometheus and promtool, if they are installed (Debian package `prometheus`).

import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from './ports.ts';
import { startProgram } from './processes.ts';

/** Returns true if both programs are installed. */
export function hasPrometheus(): boolean {
  return ['promtool', 'prometheus'].every((program) => spawnSync(program, ['--version']).status === 0);
}

/** Throws if the programs are not installed, so that tests do not pass without them. */
export function requirePrometheus(): void {
  if (!hasPrometheus()) throw new Error('Prometheus and promtool are not installed. Install the `prometheus` package.');
}

export interface Prometheus {
  /** Returns the data of an endpoint below /api/v1, such as `rules`. */
  get<T>(path: string): Promise<T>;
  /** Returns the current samples of an expression. */
  query(expr: string): Promise<readonly Sample[]>;
  stop(): Promise<void>;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** Starts Prometheus with a configuration in a folder, and waits until it is ready. */
export async function startPrometheus(folder: string, config: object): Promise<Prometheus> {
  const [port] = await freePorts(1);
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));
  const flags = [
    `--config.file=${join(folder, 'prometheus.yml')}`,
    `--storage.tsdb.path=${join(folder, 'tsdb')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const program = await startProgram('prometheus', flags, join(folder, 'prometheus.log'));
  const url = `http://127.0.0.1:${port}`;
  while (!(await isReady(url))) {
    if (!program.isRunning()) throw new Error(`Prometheus exited:\n${await program.output()}`);
    await delay(50);
  }
  const get = async <T>(path: string): Promise<T> => {
    const response = (await (await fetch(`${url}/api/v1/${path}`)).json()) as {
      readonly status: string;
      readonly data: T;
      readonly error?: string;
    };
    if (response.status !== 'success') throw new Error(`${path}: ${response.error}`);
    return response.data;
  };
  const query = async (expr: string) => (await get<{ result: readonly Sample[] }>(`query?query=${encodeURIComponent(expr)}`)).result;
  return { get, query, stop: () => program.stop() };
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/-/ready`).then(
    ({ ok }) => ok,
    () => false,
  );
}
