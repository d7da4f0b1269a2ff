// Files of this repository by path.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

/** Returns the text of a file. */
export function readText(path: string): string {
  return readFileSync(resolve(import.meta.dirname, '../..', path), 'utf8');
}
