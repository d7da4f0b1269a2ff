// Custom faults as text, such as `one lose tokens`, `hub respond 503 writes` and `two slow 1500`.

import type { Bench } from './bench.ts';
import type { FaultProxy } from './proxy/fault-proxy.ts';
import { type Action, MATCHERS } from './proxy/rules.ts';
import type { TcpMode, TrafficShape } from './proxy/tcp-relay.ts';
import { rotateAndWait, type Scenario } from './scenario.ts';

export interface CustomFault {
  readonly text: string;
  readonly cluster: ClusterName;
  readonly begin: (proxy: FaultProxy) => unknown;
}

type ClusterName = 'hub' | 'one' | 'two';

const MODES: readonly TcpMode[] = ['refuse', 'reset', 'freeze', 'silent'];
const SHAPES: Readonly<Record<string, (amount: number) => TrafficShape>> = {
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
  respond: (status, retryAfter) => ({ type: 'respond', status, ...(retryAfter && { headers: { 'retry-after': retryAfter } }) }),
};

export const GRAMMAR = `Custom faults are written as WHERE WHAT [WHICH]:
  WHERE   hub, one or two
  WHAT    connections: ${MODES.join(', ')}
          traffic: slow MS, throttle BYTES_PER_SECOND, cut BYTES
          requests: ${Object.keys(ACTIONS).join(', ')}, delay MS, truncate BYTES, respond STATUS[:RETRY_AFTER]
  WHICH   requests: ${Object.keys(MATCHERS).join(', ')} (default: everything), or a part of the path that starts with /
`;

/** Parses a fault. Throws an error that contains the grammar. */
export function parseFault(text: string): CustomFault {
  const [cluster = '', keyword = '', ...rest] = text.trim().split(/\s+/);
  const begin = isClusterName(cluster) ? parseAction(keyword, rest) : undefined;
  if (begin === undefined) throw new Error(`Invalid fault "${text}". ${GRAMMAR}`);
  return { text, cluster: cluster as ClusterName, begin };
}

/** Returns a scenario of all faults at once, with a requested rotation of every token; recovery may take two minutes. */
export function customFaults(faults: readonly CustomFault[], seconds: number): Scenario {
  const clusters = new Set(faults.map(({ cluster }) => cluster));
  return {
    id: 'custom',
    title: faults.map(({ text }) => text).join(', '),
    on: clusters.size === 1 ? (faults[0]?.cluster ?? '') : 'purser',
    recoveryMs: 120_000,
    run: async (bench) => {
      for (const { cluster, begin } of faults) await begin(getProxy(bench, cluster));
      await rotateAndWait(bench, seconds * 1_000, await bench.listTokenNames());
    },
  };
}

function getProxy(bench: Bench, cluster: ClusterName): FaultProxy {
  return bench[cluster].proxy;
}

function isClusterName(cluster: string): cluster is ClusterName {
  return cluster === 'hub' || cluster === 'one' || cluster === 'two';
}

function parseAction(keyword: string, rest: readonly string[]): CustomFault['begin'] | undefined {
  const mode = MODES.find((each) => each === keyword);
  if (mode !== undefined) return rest.length === 0 ? (proxy) => proxy.setTcpMode(mode) : undefined;
  const action = ACTIONS[keyword];
  if (action !== undefined) return parseRule(action, rest);
  const [, amount, retryAfter] = /^(\d+)(?::(\S+))?$/.exec(rest[0] ?? '') ?? [];
  if (amount === undefined) return undefined;
  const [shape, measured] = [SHAPES[keyword]?.(Number(amount)), MEASURED_ACTIONS[keyword]?.(Number(amount), retryAfter)];
  if (shape !== undefined) return rest.length === 1 ? (proxy) => proxy.shapeTraffic(shape) : undefined;
  return measured && parseRule(measured, rest.slice(1));
}

function parseRule(action: Action, [which = 'everything', ...more]: readonly string[]): CustomFault['begin'] | undefined {
  const match = which.startsWith('/') ? ({ path }: { readonly path: string }) => path.includes(which) : MATCHERS[which];
  return match === undefined || more.length > 0 ? undefined : (proxy) => proxy.addRule(match, action);
}
