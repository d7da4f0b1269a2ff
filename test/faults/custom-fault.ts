// Custom faults in words: `one lose tokens`, `hub answer 503 writes`, `two slow 1500`.

import type { Bench } from './bench.ts';
import type { FaultProxy } from './proxy/fault-proxy.ts';
import { type Action, MATCHERS } from './proxy/rules.ts';
import type { TcpMode, TcpQuality } from './proxy/tcp-relay.ts';
import { during, type Scenario } from './scenario.ts';

export interface OwnFault {
  readonly text: string;
  readonly place: Suffering;
  readonly begin: (proxy: FaultProxy) => unknown;
}

type Suffering = 'hub' | 'one' | 'two';

const MODES: readonly TcpMode[] = ['refuse', 'reset', 'freeze', 'silent'];
const LINES: Readonly<Record<string, (amount: number) => TcpQuality>> = {
  slow: (delayMs) => ({ delayMs }),
  throttle: (bytesPerSecond) => ({ bytesPerSecond }),
  cut: (cutAfterBytes) => ({ cutAfterBytes }),
};
const ACTIONS: Readonly<Record<string, Action>> = {
  drop: { type: 'drop' },
  lose: { type: 'lose' },
  hold: { type: 'hold' },
  empty: { type: 'alter', alter: () => '{}' },
};
const MEASURED_ACTIONS: Readonly<Record<string, (amount: number, retryAfter?: string) => Action>> = {
  delay: (ms) => ({ type: 'delay', ms }),
  truncate: (bytes) => ({ type: 'truncate', bytes }),
  answer: (status, retryAfter) => ({ type: 'answer', status, ...(retryAfter && { headers: { 'retry-after': retryAfter } }) }),
};

export const GRAMMAR = `Custom faults are written as WHERE WHAT [WHICH]:
  WHERE   hub, one or two
  WHAT    connections: ${MODES.join(', ')}
          traffic: slow MS, throttle BYTES_PER_SECOND, cut BYTES
          requests: ${Object.keys(ACTIONS).join(', ')}, delay MS, truncate BYTES, answer STATUS[:RETRY_AFTER]
  WHICH   requests: ${Object.keys(MATCHERS).join(', ')} (default: everything), or a part of the path that starts with /
`;

/** Parses a fault. Throws an error that contains the grammar. */
export function parseFault(text: string): OwnFault {
  const [place = '', what = '', ...rest] = text.trim().split(/\s+/);
  const begin = isSuffering(place) ? beginningOf(what, rest) : undefined;
  if (begin === undefined) throw new Error(`"${text}" is not understood: ${GRAMMAR}`);
  return { text, place: place as Suffering, begin };
}

/** Returns a scenario of all faults at once, with a requested rotation of every token; recovery may take two minutes. */
export function ownFaults(faults: readonly OwnFault[], seconds: number): Scenario {
  const places = new Set(faults.map(({ place }) => place));
  return {
    id: 'own',
    title: faults.map(({ text }) => text).join(', '),
    on: places.size === 1 ? (faults[0]?.place ?? '') : 'purser',
    recoveryMs: 120_000,
    run: async (bench) => {
      for (const { place, begin } of faults) await begin(proxyOf(bench, place));
      await during(bench, seconds * 1_000, await bench.tokens());
    },
  };
}

function proxyOf(bench: Bench, place: Suffering): FaultProxy {
  return bench[place].proxy;
}

function isSuffering(place: string): place is Suffering {
  return place === 'hub' || place === 'one' || place === 'two';
}

function beginningOf(what: string, rest: readonly string[]): OwnFault['begin'] | undefined {
  const mode = MODES.find((each) => each === what);
  if (mode !== undefined) return rest.length === 0 ? (proxy) => proxy.tcp(mode) : undefined;
  const action = ACTIONS[what];
  if (action !== undefined) return ruleOf(action, rest);
  const [, amount, retryAfter] = /^(\d+)(?::(\S+))?$/.exec(rest[0] ?? '') ?? [];
  if (amount === undefined) return undefined;
  const [quality, measured] = [LINES[what]?.(Number(amount)), MEASURED_ACTIONS[what]?.(Number(amount), retryAfter)];
  if (quality !== undefined) return rest.length === 1 ? (proxy) => proxy.line(quality) : undefined;
  return measured && ruleOf(measured, rest.slice(1));
}

function ruleOf(action: Action, [which = 'everything', ...more]: readonly string[]): OwnFault['begin'] | undefined {
  const match = which.startsWith('/') ? ({ path }: { readonly path: string }) => path.includes(which) : MATCHERS[which];
  return match === undefined || more.length > 0 ? undefined : (proxy) => proxy.rule(match, action);
}
