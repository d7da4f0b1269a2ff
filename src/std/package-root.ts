// Folder of this package: the checkout, the installed package or the folder in the image.

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Absolute path of the nearest parent folder with a package.json. Compiled files are one level deeper than sources. */
export const packageRoot = findRoot(import.meta.dirname);

function findRoot(folder: string): string {
  return existsSync(join(folder, 'package.json')) || dirname(folder) === folder ? folder : findRoot(dirname(folder));
}
