// Hostile tenant: draws actions from its grammar and sends them, several per second.

import { setTimeout as delay } from 'node:timers/promises';
import type { History } from '../history.ts';
import { type Action, Draw, type Grammar, type Scene } from './grammar.ts';

/** Sends one request; returns the response status, or 0 without a response. */
export type Send = (action: Action) => Promise<number>;

export interface TenantOptions {
  readonly name: string;
  readonly grammar: Grammar;
  readonly scene: Scene;
  readonly random: () => number;
  readonly history: History;
  readonly send: Send;
}

/** Mean pause between two actions, in milliseconds. */
const PAUSE_MS = 160;

/** Acts until the signal aborts; records every request as a step of the history. */
export async function actHostile({ name, grammar, scene, random, history, send }: TenantOptions, signal: AbortSignal): Promise<void> {
  const draw = new Draw(random);
  while (!signal.aborted) {
    for (const action of draw.actions(grammar, scene)) {
      if (signal.aborted) return;
      history.add({ type: 'step', description: `${name}: ${action.label} ${await send(action)}` });
    }
    await delay(PAUSE_MS * 2 * random());
  }
}
