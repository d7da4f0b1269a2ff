// The view of tokens on a timeline.

import { useMemo, useRef } from 'preact/hooks';
import { type Address, formatAddress } from '../model/address.ts';
import { ORDERS, selectTokens } from '../model/filters.ts';
import type { Token } from '../model/objects.ts';
import { countBy, TOKEN_STATES, TOKEN_WORDS, tokenStateOf } from '../model/states.ts';
import { type Scale, toScale, ZOOM_NAMES, ZOOM_WORDS } from '../model/timeline.ts';
import { formatCount, formatQuantity } from '../model/times.ts';
import { Grid } from './grid.ts';
import { html } from './html.ts';
import { renderAxis, renderLane, renderLegend, toTickLines } from './lane.ts';
import { Choices, RelativeTime } from './parts.ts';
import type { Session } from './session.ts';
import { renderTokenBadge, toneOf } from './symbols.ts';

export interface ViewProps {
  readonly session: Session;
  readonly address: Address;
  readonly now: number;
  readonly go: (address: Address) => void;
}

const ORDER_WORDS = { name: 'Name', expiry: 'Expiry', renewal: 'Renewal' } as const;

export function Tokens({ session, address, now, go }: ViewProps) {
  const { query, tokenState: state, zoom, order, opened } = address;
  const { items, revision } = session.tokens;
  // States change with time, so tokens are counted and filtered by state again every second.
  const second = Math.floor(now / 1_000);
  const counts = useMemo(() => countBy(TOKEN_STATES, statesOf(items.values(), now)), [revision, second]);
  const previous = useRef<readonly Token[]>([]);
  const found = useMemo(
    () => selectTokens(items, { query, state, order, now }, previous.current),
    [revision, query, state, order, state === undefined ? 0 : second],
  );
  previous.current = found;
  const scale = toScale(zoom, now);
  return html`<section class="tokens" aria-label="Tokens" style=${toTickLines(scale)}>
    <h1 class="unseen">Tokens</h1>
    <div class="tools" style=${{ '--digits': formatCount(items.size).length }}>
      <${Choices} kind="states" label="State" choices=${[
        {
          label: html`All <b>${formatCount(items.size)}</b>`,
          href: formatAddress({ ...address, tokenState: undefined }),
          isChosen: state === undefined,
        },
        ...TOKEN_STATES.map((each) => ({
          label: html`${TOKEN_WORDS[each]} <b>${formatCount(counts[each])}</b>`,
          href: formatAddress({ ...address, tokenState: each }),
          isChosen: state === each,
        })),
      ]} />
      <${Choices} kind="orders" label="Order" choices=${ORDERS.map((each) => ({
        label: ORDER_WORDS[each],
        title: `Order by ${ORDER_WORDS[each].toLowerCase()}`,
        href: formatAddress({ ...address, order: each }),
        isChosen: order === each,
      }))} />
      <${Choices} kind="zooms" label="Zoom" choices=${ZOOM_NAMES.map((each) => ({
        label: each,
        title: ZOOM_WORDS[each],
        href: formatAddress({ ...address, zoom: each }),
        isChosen: zoom === each,
      }))} />
    </div>
    <${Grid} kind="token-grid" label="Tokens" items=${found} isAnchored=${order === 'name'} opened=${opened?.kind === 'token' ? opened.key : undefined}
      head=${renderHead(scale)} stamp=${`${now} ${zoom}`} row=${(token: Token) => renderCells(token, scale)}
      onOpen=${({ key }: Token) => go({ ...address, opened: { kind: 'token', key } })}
      empty=${describeEmpty(session, items.size)} />
    <div class="foot"><p>${formatFoot(session, found.length, items.size)}</p>${renderLegend()}</div>
  </section>`;
}

function* statesOf(tokens: Iterable<Token>, now: number) {
  for (const token of tokens) yield tokenStateOf(token, now);
}

function renderHead(scale: Scale) {
  return html`<span role="columnheader">State</span><span role="columnheader">Token</span><span role="columnheader">Cluster</span>
    <span role="columnheader" class="lane-head"><span class="unseen">Timeline</span>${renderAxis(scale)}</span>
    <span role="columnheader" class="end">Renewal</span><span role="columnheader" class="end">Expiry</span>`;
}

function renderCells(token: Token, scale: Scale) {
  const { name, namespace, cluster, account, renewsAt, expiresAt } = token;
  const state = tokenStateOf(token, scale.now);
  return html`<span role="gridcell" class="state">${renderTokenBadge(state)}</span>
    <span role="gridcell" class="names"><b title=${name}>${name}</b><small title=${namespace}>${namespace}</small></span>
    <span role="gridcell" class="names target"><span title=${cluster}>${cluster}</span><small title=${account}>${account}</small></span>
    <span role="gridcell" class="lane-cell">${renderLane(token, scale, toneOf(state))}</span>
    <span role="gridcell" class="end renews"><${RelativeTime} at=${renewsAt} now=${scale.now} /></span>
    <span role="gridcell" class="end expires"><${RelativeTime} at=${expiresAt} now=${scale.now} otherwise="no token" /></span>`;
}

function describeEmpty(session: Session, total: number): string {
  if (session.isLoading) return 'Loading tokens…';
  if (total > 0) return 'No token matches the filter. Press Esc to clear it.';
  return 'There are no ManagedTokens that you may list.';
}

function formatFoot(session: Session, found: number, total: number): string {
  const { phase } = session.tokens;
  if (phase.type === 'loading' && phase.loaded > 0)
    return `Loading: ${formatCount(phase.loaded)}${phase.remaining === undefined ? '' : ` of ${formatCount(phase.loaded + phase.remaining)}`} tokens`;
  return found === total ? formatQuantity(total, 'token') : `${formatCount(found)} of ${formatQuantity(total, 'token')}`;
}
