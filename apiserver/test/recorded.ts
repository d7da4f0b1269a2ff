// Recorded requests to a real kube-apiserver, with the responses from it.

import { readFileSync } from 'node:fs';

export interface Exchange {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  };
  readonly response: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: string };
}

type RecordingFile = 'token-requests' | 'resources';

/** Returns the exchanges of a recording. */
export function readRecording(file: RecordingFile): readonly Exchange[] {
  return JSON.parse(readFileSync(new URL(`../../test/golden/${file}.json`, import.meta.url), 'utf8'));
}

/** Returns one exchange of a recording. Throws an Error for an unknown name. */
export function readExchange(file: RecordingFile, name: string): Exchange {
  const found = readRecording(file).find((each) => each.name === name);
  if (found === undefined) throw new Error(`${name} is not recorded`);
  return found;
}
