// The data folder of a local run: the saved state, files for the user, and one folder for each API server.

import { chmod, mkdir, readdir, readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { StartError } from '../../src/config/start-error.ts';
import { isFields } from '../../src/kubernetes/object.ts';
import { isDraft, writePrivateFile } from '../../src/std/private-file.ts';
import type { JsonObject } from '../same-value.ts';

/** State that a run saves for the next run. */
export interface RunState {
  /** Bearer tokens by server and user. */
  readonly tokens: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Last port of each target cluster, by name. */
  readonly ports: Readonly<Record<string, number>>;
  /** Names of the servers that have received samples. Samples that the user deletes are not re-created. */
  readonly sampled: readonly string[];
}

export class DataFolder {
  readonly path: string;
  #state: RunState | undefined;

  constructor(path: string, state: RunState | undefined) {
    this.path = path;
    this.#state = state;
  }

  /** True if the folder has no saved state yet. */
  get isNew(): boolean {
    return this.#state === undefined;
  }

  get state(): RunState {
    return this.#state ?? { tokens: {}, ports: {}, sampled: [] };
  }

  /** Returns the path of a file or folder in the data folder. */
  pathOf(name: string): string {
    return join(this.path, name);
  }

  /** Merges `change` into the state, and saves the state if it changed. */
  async saveState(change: Partial<RunState>): Promise<void> {
    const state = { ...this.state, ...change };
    if (isDeepStrictEqual(state, this.#state)) return;
    await this.write(STATE_FILE, `${JSON.stringify({ format: FORMAT, ...state }, null, 2)}\n`);
    this.#state = state;
  }

  /** Writes a file that only the current user can read. Throws a StartError if the write fails. */
  async write(name: string, text: string): Promise<void> {
    try {
      await writePrivateFile(this.pathOf(name), text);
    } catch (error) {
      throw toStartError(this.path, error);
    }
  }
}

/** Opens or creates a data folder. Throws a StartError for an unusable folder; does not change folders of other programs. */
export async function openDataFolder(path: string): Promise<DataFolder> {
  const folder = resolve(path);
  try {
    await createFolder(folder);
    const entries = (await readdir(folder)).filter((name) => !isDraft(name));
    if (entries.includes(STATE_FILE))
      return new DataFolder(folder, parseState(join(folder, STATE_FILE), await readFile(join(folder, STATE_FILE), 'utf8')));
    if (entries.length > 0)
      throw new StartError(`${folder} is not a data folder of Purser (it contains ${entries[0]}). Choose another --data-dir`);
    await chmod(folder, 0o700);
    return new DataFolder(folder, undefined);
  } catch (error) {
    throw toStartError(folder, error);
  }
}

/** Creates a folder and its parents. Node's recursive mkdir does not terminate below /proc. */
async function createFolder(path: string): Promise<void> {
  const create = () => mkdir(path, { mode: 0o700 });
  try {
    await create();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return;
    if (code !== 'ENOENT' || dirname(path) === path) throw error;
    await createFolder(dirname(path));
    await create();
  }
}

const STATE_FILE = 'purser.json';
const FORMAT = 1;

function toStartError(folder: string, error: unknown): StartError {
  if (error instanceof StartError) return error;
  return new StartError(`cannot use ${folder} (${(error as Error).message}). Choose another --data-dir`, { cause: error });
}

function parseState(file: string, text: string): RunState {
  const { format, ...state } = parseRecord(text);
  if (typeof format === 'number' && format !== FORMAT) {
    throw new StartError(`${file} has format ${format}, but this version of Purser reads format ${FORMAT}. Choose another --data-dir`);
  }
  if (!isRunState(state)) throw new StartError(`${file} is damaged. Purser has not changed the file. Choose another --data-dir`);
  return state;
}

function parseRecord(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}

function isRunState(value: JsonObject): value is JsonObject & RunState {
  const { tokens, ports, sampled } = value;
  const isText = (text: unknown) => typeof text === 'string' && text !== '';
  return (
    isFields(tokens) &&
    Object.values(tokens).every((users) => isFields(users) && Object.values(users).every(isText)) &&
    isFields(ports) &&
    Object.values(ports).every(Number.isInteger) &&
    Array.isArray(sampled) &&
    sampled.every(isText)
  );
}
