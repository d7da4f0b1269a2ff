// Files of this repository, by their paths in it.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of a file. */
export function readText(path: string): string {
  return readFileSync(join(import.meta.dirname, '../..', path), 'utf8');
}
