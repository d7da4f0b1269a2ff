// Opens the page in the user's browser. The address contains a secret, and other users of the machine can read the arguments of programs,
// so the browser opens a private file that redirects to the address.

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Env } from '../../config/variables.ts';

/** Programs that open a file with the user's default application, by platform; on other platforms, `xdg-open` does. */
const OPENERS: Readonly<Record<string, readonly [program: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
};

/** A private file that redirects to an address. */
export interface RedirectFile extends AsyncDisposable {
  readonly file: string;
}

/** Writes a file that redirects to `url` into a folder that only the user can read. */
export async function createRedirectFile(url: string): Promise<RedirectFile> {
  const folder = await mkdtemp(join(tmpdir(), 'purser-ui-'));
  const file = join(folder, 'index.html');
  await writeFile(file, `<!doctype html><meta charset="utf-8"><title>Purser</title><meta http-equiv="refresh" content="0; url=${url}">`, {
    mode: 0o600,
  });
  return { file, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}

/**
 * Starts the browser: the command in BROWSER, whose arguments are separated by spaces, or the user's default application. Returns the name
 * of the program if it could not be started, and undefined otherwise.
 */
export async function openBrowser(file: string, env: Env): Promise<string | undefined> {
  const [program = 'xdg-open', ...args] = env['BROWSER']?.match(/\S+/g) ?? OPENERS[platform()] ?? [];
  const child = spawn(program, [...args, file], { stdio: 'ignore', detached: true, env: { ...env } });
  child.unref();
  return await new Promise((resolve) => {
    child.once('spawn', () => resolve(undefined));
    child.once('error', () => resolve(program));
  });
}
