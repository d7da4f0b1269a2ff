// Files of this repository, by their paths in it.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** The text of a file. */
export function readText(path: string): string {
  return readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');
}
