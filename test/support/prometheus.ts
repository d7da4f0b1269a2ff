// Prometheus and its tool, where they are installed (Debian package `prometheus`).

import { spawnSync } from 'node:child_process';

/** Whether alerts can be tried. */
export function hasPromtool(): boolean {
  return spawnSync('promtool', ['--version']).status === 0;
}
