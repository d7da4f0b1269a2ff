// The overview: counts by state, renewals and expiries in the next 24 hours, and the objects that need attention.

import { useMemo } from 'preact/hooks';
import { type Address, formatAddress, START } from '../model/address.ts';
import { type Attention, findAttention } from '../model/attention.ts';
import {
  CLUSTER_STATES,
  CLUSTER_WORDS,
  type ClusterState,
  clusterStateOf,
  countBy,
  TOKEN_STATES,
  TOKEN_WORDS,
  type TokenState,
  tokenStateOf,
} from '../model/states.ts';
import { type Bin, toBins } from '../model/timeline.ts';
import { formatCount, formatQuantity, formatRelative } from '../model/times.ts';
import { html } from './html.ts';
import { RelativeTime } from './parts.ts';
import { clusterToneOf, renderClusterBadge, renderTokenBadge, toneOf } from './symbols.ts';
import type { ViewProps } from './tokens.ts';

/** Maximum number of listed objects that need attention; the views of tokens and clusters list all. */
const MAX_LISTED = 60;
const DAY = 86_400_000;
const BINS = 48;

export function Overview({ session, address, now }: ViewProps) {
  const { items, revision } = session.tokens;
  const { clusters } = session;
  const second = Math.floor(now / 1_000);
  const attention = useMemo(() => findAttention(clusters.values(), items.values(), now), [revision, session.clusterRevision, second]);
  const bins = useMemo(() => toBins(items.values(), now, DAY, BINS), [revision, second]);
  const tokenCounts = useMemo(
    () =>
      countBy(
        TOKEN_STATES,
        [...items.values()].map((token) => tokenStateOf(token, now)),
      ),
    [revision, second],
  );
  const clusterCounts = countBy(CLUSTER_STATES, [...clusters.values()].map(clusterStateOf));
  return html`<section class="overview" aria-label="Overview">
    <h1 class="unseen">Overview</h1>
    <div class="cards">
      ${renderCard('Tokens', items.size, formatAddress({ ...START, view: 'tokens' }), toTokenParts(tokenCounts))}
      ${renderCard('Clusters', clusters.size, formatAddress({ ...START, view: 'clusters' }), toClusterParts(clusterCounts))}
      ${renderNextDay(bins, now)}
    </div>
    <div class="attention">
      <h2>Needs attention <b>${formatCount(attention.length)}</b></h2>
      ${
        attention.length === 0
          ? renderCalm(session.isLoading, items.size)
          : html`<ul>${attention.slice(0, MAX_LISTED).map((each) => renderItem(each, address, now))}</ul>`
      }
      ${
        attention.length > MAX_LISTED &&
        html`<p class="more">${formatCount(attention.length - MAX_LISTED)} more: see <a href=${formatAddress({ ...START, view: 'tokens', tokenState: 'failing' })}>failing tokens</a>
          and <a href=${formatAddress({ ...START, view: 'tokens', tokenState: 'expired' })}>expired tokens</a>.</p>`
      }
    </div>
  </section>`;
}

function toTokenParts(counts: Readonly<Record<TokenState, number>>): readonly Part[] {
  return TOKEN_STATES.map((state) => ({
    word: TOKEN_WORDS[state],
    count: counts[state],
    tone: `${toneOf(state)} ${state}`,
    href: formatAddress({ ...START, view: 'tokens', tokenState: state }),
  }));
}

function toClusterParts(counts: Readonly<Record<ClusterState, number>>): readonly Part[] {
  return CLUSTER_STATES.map((state) => ({
    word: CLUSTER_WORDS[state],
    count: counts[state],
    tone: `${clusterToneOf(state)} ${state}`,
    href: formatAddress({ ...START, view: 'clusters', clusterState: state }),
  }));
}

interface Part {
  readonly word: string;
  readonly count: number;
  readonly tone: string;
  readonly href: string;
}

function renderCard(title: string, total: number, href: string, parts: readonly Part[]) {
  return html`<div class="card">
    <h2><a href=${href}>${title}</a></h2>
    <p class="total">${formatCount(total)}</p>
    <div class="share" aria-hidden="true">${parts.map(({ word, count, tone }) => html`<i class=${tone} key=${word} style=${{ flexGrow: count }} hidden=${count === 0}></i>`)}</div>
    <ul class="parts">${parts.map(
      ({
        word,
        count,
        tone,
        href: target,
      }) => html`<li key=${word}><a class=${count === 0 ? 'zero' : ''} href=${target}><i class="dot ${tone}" aria-hidden="true"></i>
        <span>${word}</span><b>${formatCount(count)}</b></a></li>`,
    )}</ul>
  </div>`;
}

/** Renders the chart of renewals and of expiries without renewal in the next 24 hours. */
function renderNextDay(bins: readonly Bin[], now: number) {
  const most = bins.reduce((highest, { renewals, expiries }) => Math.max(highest, renewals + expiries), 1);
  const renewals = bins.reduce((sum, bin) => sum + bin.renewals, 0);
  const expiries = bins.reduce((sum, bin) => sum + bin.expiries, 0);
  const [renewalText, expiryText] = [formatQuantity(renewals, 'renewal'), formatExpiries(expiries)];
  return html`<div class="card next">
    <h2>Next 24 hours</h2>
    <p class="legend"><span><i class="dot planned"></i>${renewalText}</span><span class=${expiries === 0 ? 'zero' : ''}><i class="dot bad"></i>${expiryText}</span></p>
    <div class="bins" role="img" aria-label=${`${renewalText}, ${expiryText}`}>
      ${bins.map(
        ({
          from,
          renewals: planned,
          expiries: lost,
        }) => html`<span key=${Math.round(from - now)} title=${`${formatRelative(from, now)}: ${formatQuantity(planned, 'renewal')}, ${formatExpiries(lost)}`}>
          <i class="bad" style=${{ height: `${(lost / most) * 100}%` }}></i><i class="planned" style=${{ height: `${(planned / most) * 100}%` }}></i></span>`,
      )}
    </div>
    <p class="hours" aria-hidden="true"><span>now</span><span>6 h</span><span>12 h</span><span>18 h</span><span>24 h</span></p>
  </div>`;
}

function formatExpiries(count: number): string {
  return `${formatQuantity(count, 'expiry', 'expiries')} without renewal`;
}

function renderCalm(isLoading: boolean, total: number) {
  if (isLoading) return html`<p class="calm">Loading…</p>`;
  return html`<p class="calm">${total === 0 ? 'There are no ManagedTokens that you may list.' : 'No token and no cluster needs attention.'}</p>`;
}

function renderItem(attention: Attention, address: Address, now: number) {
  const { kind, key, reason, message, since } = attention;
  const href = formatAddress({ ...address, opened: { kind, key } });
  return html`<li key=${`${kind} ${key}`}><a href=${href}>
    <span class="state">${attention.kind === 'cluster' ? renderClusterBadge(attention.state) : renderTokenBadge(attention.state)}</span>
    <span class="what"><b>${key}</b><small>${attention.kind === 'cluster' ? 'Cluster' : html`on <bdi>${attention.cluster}</bdi>`}</small></span>
    <span class="why"><span class="message">${message}</span><small><bdi>${reason}</bdi>${describeEffect(attention)}</small></span>
    <span class="end since"><${RelativeTime} at=${since} now=${now} /></span>
  </a></li>`;
}

function describeEffect(attention: Attention): string {
  if (attention.kind === 'token') return attention.isUsable ? ' · the token is still valid' : ' · no valid token';
  if (attention.failingTokens === 0) return '';
  return ` · ${formatQuantity(attention.failingTokens, 'failing token')}`;
}
