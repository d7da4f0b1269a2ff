// Registers one test for each recorded exchange.

import { expect, it } from '@jest/globals';
import { type Outcome, type Recording, type Relaxation, Replay } from '../support/golden.ts';
import type { ContractServer } from './server.ts';

export interface ReplayOptions {
  /** Relaxations of the comparison, by recording name. */
  readonly relax?: (recording: Recording) => Relaxation | undefined;
  /** Waits for later effects of a request, by recording name. */
  readonly settle?: Readonly<Record<string, () => Promise<void>>>;
}

/** Tests that the server responds to each request as recorded: status, headers and body. */
export function itRespondsAsRecorded(
  server: Pick<ContractServer, 'request'>,
  recordings: readonly Recording[],
  options: ReplayOptions = {},
): void {
  const replay = new Replay(server.request);
  it.each(recordings.map((recording) => [recording.name, recording] as const))(
    'responds to the request %s as recorded',
    async (name, recording) => {
      const { expected, actual } = await replay.play(recording, options.relax?.(recording));
      await options.settle?.[name]?.();
      expect(excerpt(actual, expected)).toEqual(excerpt(expected, actual));
    },
  );
}

/** Returns a response with the part of its body around the first difference, because whole bodies are too long to compare by eye. */
function excerpt({ body, ...rest }: Outcome, other: Outcome): object {
  if (body === other.body) return { ...rest, body: '(equal)' };
  const at = firstDifference(body, other.body);
  return { ...rest, bodyDiffersAt: at, before: body.slice(Math.max(0, at - 160), at), from: body.slice(at, at + 240) };
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at++;
  return at;
}
