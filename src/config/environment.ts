// What the environment of a process may not ask of Node where tokens are kept.

import { StartError } from './start-error.ts';

/** Throws a StartError for variables that open the process to others, or let others pose as clusters. */
export function checkEnvironment(env: Readonly<Record<string, string | undefined>>): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    throw new StartError('NODE_TLS_REJECT_UNAUTHORIZED=0 would send credentials to whoever asks for them; unset it');
  }
  if (/--inspect/.test(env['NODE_OPTIONS'] ?? '')) {
    throw new StartError('NODE_OPTIONS with --inspect would open every token to a debugger; unset it');
  }
}
