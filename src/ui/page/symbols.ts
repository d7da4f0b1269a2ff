// Symbols of states: each state has its own shape, so that users can distinguish states without color.

import type { Verdict } from '../model/chain.ts';
import { CLUSTER_WORDS, type ClusterState, TOKEN_WORDS, type TokenState } from '../model/states.ts';
import { html } from './html.ts';

type Shape = 'check' | 'cross' | 'triangle' | 'clock' | 'ring' | 'pause' | 'dash';
type Tone = 'good' | 'bad' | 'warn' | 'calm';

/** Marks inside the frames, in a square of 16 units. */
const MARKS: Readonly<Record<Shape, string>> = {
  check: 'M4 8.5l2.7 2.7L12 5.5',
  cross: 'M5 5l6 6M11 5l-6 6',
  triangle: 'M8 4.6v4.2M8 11.3v.2',
  clock: 'M8 4.8V8l2.2 1.6',
  ring: 'M8 8h.01',
  pause: 'M6.2 5.2v5.6M9.8 5.2v5.6',
  dash: 'M5 8h6',
};

/** Frames around the marks, in a square of 16 units. */
const FRAMES: Readonly<Record<Shape, string>> = {
  check: 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z',
  cross: 'M5 1.5h6L14.5 5v6L11 14.5H5L1.5 11V5z',
  triangle: 'M8 1.3L15.2 14.2H.8z',
  clock: 'M8 .9L15.1 8L8 15.1L.9 8z',
  ring: 'M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 1 0 0-13z',
  pause: 'M3.5 1.5h9a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-9a2 2 0 0 1-2-2v-9a2 2 0 0 1 2-2z',
  dash: 'M3.5 1.5h9a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2h-9a2 2 0 0 1-2-2v-9a2 2 0 0 1 2-2z',
};

const TOKEN_SYMBOLS: Readonly<Record<TokenState, readonly [Shape, Tone]>> = {
  expired: ['cross', 'bad'],
  failing: ['triangle', 'bad'],
  expiring: ['clock', 'warn'],
  pending: ['ring', 'calm'],
  suspended: ['pause', 'calm'],
  ready: ['check', 'good'],
};

const CLUSTER_SYMBOLS: Readonly<Record<ClusterState, readonly [Shape, Tone]>> = {
  failing: ['triangle', 'bad'],
  warning: ['clock', 'warn'],
  unknown: ['dash', 'calm'],
  ready: ['check', 'good'],
};

const VERDICT_SYMBOLS: Readonly<Record<Verdict, readonly [Shape, Tone]>> = {
  ok: ['check', 'good'],
  failed: ['triangle', 'bad'],
  waiting: ['ring', 'calm'],
  unknown: ['dash', 'calm'],
};

function renderSymbol([shape, tone]: readonly [Shape, Tone]) {
  return html`<svg class="symbol ${tone}" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
    <path class="frame" d=${FRAMES[shape]} /><path class="mark" d=${MARKS[shape]} />
  </svg>`;
}

/** Renders the symbol and the word of a token's state. */
export function renderTokenBadge(state: TokenState) {
  return html`<span class="badge ${TOKEN_SYMBOLS[state][1]}">${renderSymbol(TOKEN_SYMBOLS[state])}<span>${TOKEN_WORDS[state]}</span></span>`;
}

/** Renders the symbol and the word of a cluster's state. */
export function renderClusterBadge(state: ClusterState) {
  return html`<span class="badge ${CLUSTER_SYMBOLS[state][1]}">${renderSymbol(CLUSTER_SYMBOLS[state])}<span>${CLUSTER_WORDS[state]}</span></span>`;
}

/** Renders the symbol of a verdict; the caller adds the word. */
export function renderVerdictSymbol(verdict: Verdict) {
  return renderSymbol(VERDICT_SYMBOLS[verdict]);
}

/** Renders the symbol and the name of a condition. */
export function renderConditionChip(name: string, status: 'True' | 'False' | 'Unknown' | undefined) {
  const verdict = status === 'True' ? 'ok' : status === 'False' ? 'failed' : 'unknown';
  const word = status === 'True' ? 'yes' : status === 'False' ? 'no' : 'unknown';
  return html`<span class="chip ${VERDICT_SYMBOLS[verdict][1]}">${renderSymbol(VERDICT_SYMBOLS[verdict])}<span>${name}</span><span class="unseen">: ${word}</span></span>`;
}

/** Returns the CSS class for the color of a token's state. */
export function toneOf(state: TokenState): Tone {
  return TOKEN_SYMBOLS[state][1];
}

/** Returns the CSS class for the color of a cluster's state. */
export function clusterToneOf(state: ClusterState): Tone {
  return CLUSTER_SYMBOLS[state][1];
}
