// A process that records its exits.

import type { Host } from '../../src/cli/program.ts';

type HostEvent = Parameters<Host['on']>[0];

export class FakeProcess implements Host {
  readonly exits: number[] = [];
  readonly #listeners = new Map<HostEvent, (error: unknown) => void>();
  text = '';
  readonly stderr = { write: (text: string) => (this.text += text) };

  on(event: HostEvent, listener: (error: unknown) => void): void {
    this.#listeners.set(event, listener);
  }

  exit(code: number): void {
    this.exits.push(code);
  }

  send(event: HostEvent, error?: unknown): void {
    this.#listeners.get(event)?.(error);
  }
}
