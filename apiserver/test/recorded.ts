// Exchanges recorded with a real kube-apiserver.

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

/** The exchanges of one recording. */
export function recorded(file: 'token-requests' | 'resources'): readonly Exchange[] {
  return JSON.parse(readFileSync(new URL(`../../test/golden/${file}.json`, import.meta.url), 'utf8'));
}

/** One exchange of a recording. */
export function exchange(file: 'token-requests' | 'resources', name: string): Exchange {
  const found = recorded(file).find((each) => each.name === name);
  if (found === undefined) throw new Error(`${name} is not recorded`);
  return found;
}
